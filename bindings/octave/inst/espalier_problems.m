## SPDX-License-Identifier: Apache-2.0
## -*- texinfo -*-
## @deftypefn  {} {} espalier_problems ()
## @deftypefnx {} {@var{list} =} espalier_problems (@var{words})
## List the problems of the platform: those whose name or title has all the words.  With a result, a struct array with
## the fields @code{name} and @code{title}.
## @seealso{espalier_help, espalier}
## @end deftypefn
function list = espalier_problems (words = "")
  if (! ischar (words))
    error ("espalier:invalid", "espalier_problems: expected words, found a value of class %s", class (words));
  endif
  found = __espalier_call__ ("problems");
  for word = strsplit (strtrim (lower (words)), " ")
    if (! isempty (word{1}))
      has = @(entry) ! isempty (strfind (lower ([entry.name, " ", entry.title]), word{1}));
      found = found(arrayfun (has, found));
    endif
  endfor
  if (nargout > 0)
    list = found;
  else
    for i = 1:numel (found)
      printf ("%-16s %s\n", found(i).name, found(i).title);
    endfor
  endif
endfunction
