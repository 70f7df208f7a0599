## SPDX-License-Identifier: Apache-2.0
## Calls from Octave: arguments of every kind, results, futures, and what is wrong as an error. calls (GROUP)
function calls (group)
  rand ("seed", 31);
  feval (group);
  printf ("%s: all right\n", group);
endfunction

function fails (id, pattern, varargin)
  try
    espalier (varargin{:});
  catch e
    assert (strncmp (e.identifier, ["espalier:", id], 9 + numel (id)), "%s, expected %s: %s", e.identifier, id, e.message);
    assert (! isempty (regexp (e.message, [pattern, ".*"])), "expected %s, found %s", pattern, e.message);
    return
  end_try_catch
  error ("no error, expected %s", pattern);
endfunction

function a = matrix (n)
  a = rand (n) + n * eye (n);
endfunction

function results ()
  A = matrix (5);
  b = rand (5, 2);
  x = espalier ("dgesv", A, b);
  assert (x, A \ b, 1e-12);
  [x, pivots, factors] = espalier ("dgesv", A, b);
  assert (class (pivots), "int32");
  assert (size (pivots), [5, 1]);
  [l, u] = lu (A);
  assert (triu (factors), u, 1e-12);
  S = A + A';
  [w, v] = espalier ("dsyev", S);
  assert (S * v, v * diag (w), 1e-10);
  assert (espalier ("dgemm", A, A, "transa", "T", "alpha", 2), 2 * A' * A, 1e-10);
  assert (espalier ("dgemm", A, A, "beta", 3, "C", S), A * A + 3 * S, 1e-10);
  [piv, x] = espalier ("dgesv", A, b, "want", {"ipiv", "B"});
  assert (piv, pivots);
  assert (x, A \ b, 1e-12);
  assert (espalier ("dgesv", A, b, "want", "B", "server", "S", "deadline", 60), A \ b, 1e-12);
  before = A;
  espalier ("dgetrf", A);
  assert (A, before);     # what goes in never changes
  x = espalier ("solve", A, b);
  assert (x, A \ b, 1e-12);
  assert (espalier ("dgesv", eye (5), b), b);   # a diagonal matrix of Octave
  assert (espalier ("copy_double", 1:4), (1:4)');   # a range
endfunction

function types ()
  A = matrix (4);
  b = rand (4, 1);
  Z = A + i * matrix (4);
  x = espalier ("sgesv", single (A), single (b));
  assert (class (x), "single");
  assert (x, single (A \ b), 1e-5);
  z = espalier ("zgesv", Z, b);
  assert (z, Z \ b, 1e-12);
  c = espalier ("cgesv", single (Z), b);
  assert (class (c), "single");
  assert (double (c), Z \ b, 1e-5);
  for type = {"short", "int16"; "int", "int32"; "long", "int64"; "int64", "int64"; "float", "single"; "double", "double"}'
    y = espalier (["copy_", type{1}], [1, -2, 3]);
    assert (class (y), type{2});
    assert (double (y), [1; -2; 3]);
    assert (size (espalier (["copy_", type{1}], [])), [0, 1]);
  endfor
  assert (espalier ("copy_int64", intmax ("int64")), intmax ("int64"));
  assert (espalier ("copy_int", true), int32 (1));
  assert (espalier ("copy_complex", [1+2i, 3]), single ([1+2i; 3]));
  assert (espalier ("copy_double_complex", [1+2i, 3]), [1+2i; 3]);
  assert (isempty (espalier ("copy_double_complex", zeros (0, 1))));
  assert (espalier ("copy_char", "abc"), "abc");
  assert (espalier ("copy_double", int8 ([1, 2])), [1; 2]);
  assert (espalier ("greet", "you", "hello"), "hello, you!");
  assert (espalier ("by_rows", [1, 2, 3; 4, 5, 6]), [1, 2, 3; 4, 5, 6]);
  assert (espalier ("first_columns", 2, [1, 2, 3; 4, 5, 6]), [1, 2; 4, 5]);
  assert (fetch (espalier_async ("first_columns", 1, [1, 2, 3; 4, 5, 6])), [1; 4]);
  assert (espalier ("packed_times", [2, 1, 3], [1, 1]), [3; 4]);
  assert (espalier ("banded_times", [0, 1, 1; 2, 2, 2; 1, 1, 0], [1, 1, 1]), [3; 4; 3]);
  assert (espalier ("cut_sum", [1, 2, 3]), 4);
  file = tempname ();
  in = fopen (file, "w");
  fputs (in, "abc");
  fclose (in);
  out = [file, ".out"];
  assert (espalier ("upper_file", file, "capitals", out), out);
  assert (fileread (out), "ABC");
  delete (file);
  delete (out);
endfunction

function sparse_matrices ()
  S = sprand (30, 30, 0.1) + 10 * speye (30);
  b = rand (30, 1);
  assert (espalier ("dumfpack", S, b), S \ b, 1e-10);
  Z = S + i * speye (30);
  assert (espalier ("zumfpack", Z, b), Z \ b, 1e-10);
  assert (espalier ("solve", S, b), S \ b, 1e-8);
  fails ("invalid", "\"A\": expected double.*found a sparse matrix; full", "dgesv", S, b);
endfunction

function futures ()
  A = matrix (50);
  b = rand (50, 1);
  for k = 1:8
    f{k} = espalier_async ("dgesv", A, k * b);
  endfor
  for k = 1:8
    [x, pivots] = fetch (f{k});
    assert (x, A \ (k * b), 1e-10);
    assert (fetch (f{k}), x);
    assert (probe (f{k}));
  endfor
  f = espalier_async ("dgesv", A, b, "want", "B");
  A(:) = 0;
  b = [];
  assert (all (isfinite (fetch (f))));
  assert (fetch (espalier_async ("greet", "you", "hello")), "hello, you!");
  assert (fetch (espalier_async ("zgesv", 2i, 4)), -2i, 1e-15);
  f = espalier_async ("nap", 60000);
  assert (! probe (f));
  assert (! isempty (regexp (evalc ("f"), "under way")));
  cancel (f);
  wrong ("espalier:cancelled", "", @() fetch (f));
  g = f;
  clear f
  assert (probe (g));
  f = espalier_async ("nap", 60000);
  clear f     # its session is cancelled with its last copy
  f = espalier_async ("dgesv", zeros (2), [1; 1]);
  wrong ("espalier:failed", "singular", @() fetch (f));
  f = espalier_async ("nap", 60000);
  espalier_disconnect ();
  wrong ("espalier:not_found", "gone", @() fetch (f));
  wrong ("espalier:not_found", "gone", @() cancel (f));
  assert (! isempty (regexp (evalc ("f"), "gone")));
  assert (espalier ("copy_double", 1), 1);     # the next call connects again
  wrong ("espalier:invalid", "espalier_async", @() esp_future ());
  save_and_load ();
endfunction

function save_and_load ()
  f = espalier_async ("copy_double", 1);
  s = struct (f);
  wrong ("espalier:not_found", "gone", @() fetch (esp_future (s.number + 1000)));
endfunction

function wrong (id, pattern, f)
  try
    f ();
  catch e
    assert (e.identifier, id);
    assert (isempty (pattern) || ! isempty (regexp (e.message, pattern)), e.message);
    return
  end_try_catch
  error ("no error, expected %s", id);
endfunction

function bad_input ()
  A = matrix (3);
  b = ones (3, 1);
  fails ("unknown_problem", "dgesw.*did you mean dgesv", "dgesw", A);
  fails ("invalid", "name of a problem", 5);
  fails ("invalid", "name of a problem");
  fails ("invalid", "name of a problem", {"dgesv"}, A, b);
  fails ("invalid", "\"B\": expected double\\[n, nrhs\\], found none", "dgesv", A);
  fails ("invalid", "the last name has no value", "dgesv", A, b, "want");
  fails ("invalid", "no input or option is called \"nrsh\"", "dgesv", A, b, "nrsh", 1);
  fails ("invalid", "found a value of class double", "dgesv", A, b, 7, 1);
  fails ("invalid", "\"ipiv\" is a result", "dgesv", A, b, "ipiv", 1);
  fails ("invalid", "given twice", "dgesv", A, b, "n", 3, "n", 3);
  fails ("invalid", "no result is called \"X\"", "dgesv", A, b, "want", "X");
  fails ("invalid", "no result is called", "dgesv", A, b, "want", {5});
  fails ("invalid", "deadline: expected seconds", "dgesv", A, b, "deadline", "soon");
  fails ("invalid", "server: expected a name", "dgesv", A, b, "server", 5);
  fails ("", "nowhere", "dgesv", A, b, "server", "nowhere");
  fails ("invalid", "dgesv", "dgesv", A(:, 1:2), b);
  fails ("invalid", "dgesv", "dgesv", A, ones (4, 1));
  fails ("invalid", "dgesv", "dgesv", rand (3, 3, 2), b);
  fails ("invalid", "dgesv", "dgesv", A, b, "n", 4);
  fails ("invalid", "class cell", "dgesv", {1, "a"}, b);
  fails ("invalid", "class char", "dgesv", "abc", b);
  fails ("invalid", "class struct", "dgesv", struct ("a", 1), b);
  fails ("invalid", "class function_handle", "dgesv", @sin, b);
  fails ("invalid", "complex numbers", "dgesv", A * i, b);
  fails ("invalid", "A", "dgesv", A * NaN, b);
  fails ("invalid", "1.5, which is not a whole number", "copy_int", 1.5);
  fails ("invalid", "NaN, which is not a whole number|nan", "copy_int", NaN);
  fails ("invalid", "which is not from", "copy_short", 40000);
  fails ("invalid", "beyond single precision", "copy_float", 1e300);
  fails ("invalid", "array of 1 x 2", "nap", [1, 2]);
  fails ("invalid", "zero byte", "greet", ["a", char(0), "b"], "hello");
  fails ("invalid", "class double", "greet", 5, "hello");
  fails ("invalid", "class cell", "greet", {"you"}, "hello");
  fails ("invalid", "packed matrix", "packed_times", ones (2), ones (2, 1));
  fails ("invalid", "elements", "banded_times", ones (2, 3), ones (3, 1));
  fails ("failed", "exactly zero", "dgesv", zeros (3), b);
  fails ("timeout", "deadline", "nap", 60000, "deadline", 0.3);
  fails ("crashed", "", "crash", 1);
  fails ("", "", "upper_file", "/nowhere/file", "capitals", tempname ());
  wrong ("espalier:invalid", "at most 3 results", @() four_results (A, b));
  wrong ("espalier:unknown_problem", "dgesw", @() espalier_async ("dgesw"));
  wrong ("espalier:unknown_problem", "dgesw", @() espalier_help ("dgesw"));
  wrong ("espalier:invalid", "expected words", @() espalier_problems (5));
  wrong ("espalier:invalid", "functions of the package", @() __espalier__ ("nonsense"));
  wrong ("espalier:invalid", "functions of the package", @() __espalier__ ());
  ## What was wrong leaves nothing behind.
  assert (espalier ("dgesv", A, b), A \ b, 1e-12);
endfunction

function four_results (A, b)
  [w, x, y, z] = espalier ("dgesv", A, b);
endfunction

function problems ()
  list = espalier_problems ("hessenberg form");
  assert (! isempty (list));
  names = {espalier_problems().name};
  assert (any (strcmp (names, "dgesv")));
  text = espalier_help ("dgesv");
  assert (! isempty (strfind (text, "[B, ipiv, A] = espalier (\"dgesv\", A, B)")));
  assert (! isempty (strfind (evalc ("espalier_help dsyev"), "jobz")));
  for k = 1:20:numel (names)
    espalier_help (names{k});
  endfor
endfunction

function connections ()
  file = getenv ("ESPALIER_CONFIG");
  espalier_connect (file);
  assert (espalier ("copy_double", 1), 1);
  wrong ("espalier:not_found", "/nowhere/client.conf", @() espalier_connect ("/nowhere/client.conf"));
  espalier_connect ("agent", "127.0.0.1:1");
  wrong_connection ();
  espalier_connect ();
  assert (espalier ("copy_double", 1), 1);
  clear all
  assert (espalier ("copy_double", 1), 1);
endfunction

function wrong_connection ()
  try
    espalier ("copy_double", 1);
  catch e
    assert (strncmp (e.identifier, "espalier:", 9));
    assert (! isempty (strfind (e.message, "127.0.0.1:1")), e.message);
    return
  end_try_catch
  error ("no error without an agent");
endfunction

function notes ()
  ## What a description notes on results is a warning.
  lastwarn ("");
  espalier ("dgetrf", zeros (2));
  [text, id] = lastwarn ();
  assert (id, "espalier:note");
  assert (! isempty (strfind (text, "singular")));
  ## Texts of errors are those of the library.
  wrong ("espalier:failed", "^dgesv on S: ", @() espalier ("dgesv", zeros (2), [1; 1]));
endfunction

function forks ()
  espalier ("copy_double", 1);
  pid = fork ();
  if (pid == 0)
    code = 1;
    try
      espalier ("copy_double", 1);
    catch e
      code = 2 + isempty (strfind (e.message, "fork"));
    end_try_catch
    exit (code);
  endif
  [~, status] = waitpid (pid);
  assert (WIFEXITED (status));
  assert (WEXITSTATUS (status), 2);
  assert (espalier ("copy_double", 1), 1);
endfunction

## The interpreter ends with calls under way.
function leaves ()
  global f
  f = espalier_async ("nap", 60000);
  h = espalier_async ("nap", 60000);
endfunction
