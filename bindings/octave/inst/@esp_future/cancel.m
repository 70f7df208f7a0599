## SPDX-License-Identifier: Apache-2.0
## -*- texinfo -*-
## @deftypefn {} {} cancel (@var{f})
## End the call.  A call that has ended does not change.
## @end deftypefn
function cancel (f)
  __espalier_call__ ("cancel", f.number);
endfunction
