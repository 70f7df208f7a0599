## SPDX-License-Identifier: Apache-2.0
## Calls the gateway for the functions of the package, and raises its errors without the gateway's name.
function value = __espalier_call__ (varargin)
  [value, id, text, note] = __espalier__ (varargin{:});
  if (! isempty (id))
    error (id, "%s", text);
  elseif (! isempty (note))
    warning ("espalier:note", "%s", note);
  endif
endfunction
