## SPDX-License-Identifier: Apache-2.0
## A call under way, made by espalier_async().
function f = esp_future (number)
  if (nargin != 1)
    error ("espalier:invalid", "esp_future: espalier_async() makes calls");
  endif
  guard = onCleanup (@() __espalier_call__ ("release", number));
  f = class (struct ("number", number, "guard", guard), "esp_future");
endfunction
