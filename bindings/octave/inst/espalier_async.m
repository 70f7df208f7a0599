## SPDX-License-Identifier: Apache-2.0
## -*- texinfo -*-
## @deftypefn {} {@var{f} =} espalier_async (@var{problem}, @var{inputs}, @dots{})
## Start a call and return at once.  The arguments are those of @code{espalier}.
##
## @code{[x, y] = fetch (f)} waits for the results, any number of times; @code{probe (f)} is true when the call has
## ended; @code{cancel (f)} ends it.  A call whose last copy of @var{f} is gone is cancelled.
## @seealso{espalier}
## @end deftypefn
function f = espalier_async (varargin)
  f = esp_future (__espalier_call__ ("async", varargin{:}));
endfunction
