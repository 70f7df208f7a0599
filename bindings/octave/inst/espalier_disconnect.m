## SPDX-License-Identifier: Apache-2.0
## -*- texinfo -*-
## @deftypefn {} {} espalier_disconnect ()
## End the connection.  Calls under way are cancelled.
## @seealso{espalier_connect}
## @end deftypefn
function espalier_disconnect ()
  __espalier_call__ ("disconnect");
endfunction
