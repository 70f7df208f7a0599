## SPDX-License-Identifier: Apache-2.0
## -*- texinfo -*-
## @deftypefn  {} {@var{x} =} espalier (@var{problem}, @var{inputs}, @dots{})
## @deftypefnx {} {[@var{x}, @var{y}] =} espalier (@dots{}, @var{name}, @var{value}, @dots{})
## Solve a problem on a server.
##
## Inputs that do not follow from others come in the order of the description.  Behind them, further inputs and the
## options @code{want}, @code{server} and @code{deadline} go by name.
##
## @example
## x = espalier ("dgesv", A, b);
## [w, v] = espalier ("dsyev", A);
## C = espalier ("dgemm", A, B, "transa", "T", "alpha", 2);
## @end example
##
## The solution of a system comes first, then results of their own, then inputs that the routine overwrites.
## @code{espalier_help} shows the order.  The option @code{want} gives results by name.
## @seealso{espalier_help, espalier_async, espalier_problems}
## @end deftypefn
function varargout = espalier (varargin)
  varargout = __espalier_call__ ("call", nargout, varargin{:});
endfunction
