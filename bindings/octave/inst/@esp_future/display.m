## SPDX-License-Identifier: Apache-2.0
function display (f)
  states = {"under way", "ended"};
  try
    state = states{1 + probe(f)};
  catch
    state = "gone";
  end_try_catch
  printf ("%s = a call of espalier_async, %s\n", inputname (1), state);
endfunction
