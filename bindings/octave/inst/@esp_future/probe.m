## SPDX-License-Identifier: Apache-2.0
## -*- texinfo -*-
## @deftypefn {} {@var{ended} =} probe (@var{f})
## Return true if the call has ended, well or not.
## @end deftypefn
function ended = probe (f)
  ended = __espalier_call__ ("probe", f.number);
endfunction
