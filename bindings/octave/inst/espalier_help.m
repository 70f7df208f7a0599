## SPDX-License-Identifier: Apache-2.0
## -*- texinfo -*-
## @deftypefn  {} {} espalier_help @var{problem}
## @deftypefnx {} {@var{text} =} espalier_help (@var{problem})
## Show how a problem is called, its inputs, results and conditions.
## @seealso{espalier, espalier_problems}
## @end deftypefn
function text = espalier_help (problem)
  if (nargin != 1)
    print_usage ();
  endif
  p = __espalier_call__ ("describe", problem);
  arguments = p.arguments(:)';
  inputs = arguments(! strcmp ({arguments.mode}, "out"));
  positional = {inputs(! [inputs.follows]).name};
  call = sprintf ("espalier (%s)", strjoin ([{["\"", p.name, "\""]}, positional], ", "));
  if (! isempty (p.results))
    call = sprintf ("[%s] = %s", strjoin (p.results, ", "), call);
  endif
  lines = {p.title, "", ["  " call], ""};
  if (! isempty (p.text))
    lines = [lines, {p.text, ""}];
  endif
  lines = [lines, section("Inputs by position", inputs(! [inputs.follows])), ...
           section("Inputs by name", inputs(logical ([inputs.follows])))];
  results = arguments([]);
  for i = 1:numel (p.results)
    results(end+1) = arguments(strcmp ({arguments.name}, p.results{i}));
    results(end).initial = "";
  endfor
  lines = [lines, section("Results", results)];
  if (! isempty (p.conditions))
    lines = [lines, {"Conditions"}, strcat({"  "}, p.conditions)];
  endif
  made = [strjoin(lines, "\n"), "\n"];
  if (nargout > 0)
    text = made;
  else
    puts (made);
  endif
endfunction

function lines = section (title, arguments)
  lines = {};
  for a = arguments
    more = a.text;
    if (! isempty (a.initial))
      more = sprintf ("%s (default %s)", more, a.initial);
    endif
    lines{end+1} = sprintf ("  %-10s %s %s  %s", a.name, a.type, a.storage, more);
  endfor
  if (! isempty (lines))
    lines = [{title}, lines, {""}];
  endif
endfunction
