## SPDX-License-Identifier: Apache-2.0
## -*- texinfo -*-
## @deftypefn  {} {} espalier_connect ()
## @deftypefnx {} {} espalier_connect (@var{file})
## @deftypefnx {} {} espalier_connect (@var{address})
## @deftypefnx {} {} espalier_connect ("agent", @var{address})
## Connect to a platform: by its configuration file, or by the address @qcode{"HOST:PORT"} of a redirector or of a
## master agent.  Without arguments, the file is that of every program.  The first call connects by itself.
## @seealso{espalier, espalier_disconnect}
## @end deftypefn
function espalier_connect (where = "", address = "")
  if (! ischar (where) || ! ischar (address))
    error ("espalier:invalid", "espalier_connect: expected the name of a file or an address");
  endif
  if (strcmp (where, "agent") && ! isempty (address))
    __espalier_call__ ("connect", "", "", address);
  elseif (any (where == ":") && ! any (where == "/"))
    __espalier_call__ ("connect", "", where, "");
  else
    __espalier_call__ ("connect", where, "", "");
  endif
endfunction
