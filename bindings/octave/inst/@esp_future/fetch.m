## SPDX-License-Identifier: Apache-2.0
## -*- texinfo -*-
## @deftypefn {} {[@var{x}, @dots{}] =} fetch (@var{f})
## Wait for a call, and return its results.
## @end deftypefn
function varargout = fetch (f)
  varargout = __espalier_call__ ("fetch", f.number, nargout);
endfunction
