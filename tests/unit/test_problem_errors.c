/* SPDX-License-Identifier: Apache-2.0 */
#include "core/problem/problem.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>

#define S "problem p \"t\"\n"
#define T "problem p \"x\"\nout string s\nimplementation i\n"
#define F "problem p \"x\"\nin file input\nimplementation i\n"
#define I S "in int n\nout double y[n]\nimplementation i\n"

static void check_message(const char *text, size_t length, const char *message)
{
    struct problem_set *set = NULL;
    struct esp_error error;
    if (problem_parse(text, length, "f.esp", &set, &error) != ESP_SYNTAX)
        fail_msg("accepted: %s", text);
    assert_null(set);
    assert_memory_equal(error.text, "f.esp:", 6);
    if (strcmp(error.text + 6, message) != 0)
        fail_msg("%s\nexpected: %s\nfound:    %s", text, message, error.text + 6);
}

static void wrong_descriptions_say_where_and_what(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "1:1: expected 'problem', found the end of the file: a description "
             "begins with: problem NAME "
             "\"title\""},
        {"# nothing\n\n", "3:1: expected 'problem', found the end of the file: a "
                          "description begins with: "
                          "problem NAME \"title\""},
        {"in int n\n", "1:1: expected 'problem', found 'in': a description "
                       "begins with: problem NAME \"title\""},
        {"probem p \"t\"\n", "1:1: expected 'problem', found 'probem': did you mean 'problem'?"},
        {"\"p\"\n", "1:1: expected 'problem', found \"p\""},
        {"problem\n", "1:8: expected the name of the problem, found the end of the line"},
        {"problem p\n", "1:10: expected the title of the problem in quotes, "
                        "found the end of the line"},
        {"problem 3 \"t\"\n", "1:9: expected the name of the problem, found 3"},
        {"problem double \"t\"\n", "1:9: expected the name of the problem, found 'double': this word has a "
                                   "meaning of its own in the language"},
        {"problem p \"t\n", "1:11: this text has no closing '\"' on its line"},
        {"problem p \"a\\tb\"\n", "1:13: unknown escape in a text: only \\\", "
                                  "\\\\ and \\n have a meaning"},
        {"problem p \"a\001b\"\n", "1:13: a text cannot contain the control character 0x01"},
        {"problem p \"\377\"\n", "1:12: the byte 0xff is not UTF-8"},
        {"problem p \"t\" in int n\n", "1:15: expected the end of the line, found 'in'"},
        {"problem "
         "pppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppppp "
         "\"t\"\n",
         "1:9: a name has at most 63 characters, this one has 64"},
        {"problem p "
         "\"ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt"
         "tttttttttttttttttttttttttttt"
         "ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt"
         "tttttttttttttttttttttttttttt"
         "ttttt\"\n",
         "1:11: a text here has at most 200 bytes, this one has 201"},
        {S "requires n > 0\n", "2:1: expected a clause (in, out, inout, work, require, ...), found "
                               "'requires': did you mean 'require'?"},
        {S "foo\n", "2:1: expected a clause (in, out, inout, work, require, ...), found 'foo'"},
        {S "callback f\n",
         "2:11: expected '(' and the parameters of the callback, found the end of the line"},
        {S "callback file f()\n", "2:10: a callback returns a number or a string, not a file"},
        {S "callback string f()\nimplementation i\nfortran g_(f)\n",
         "4:9: the callback 'f' returns a string, which Fortran's functions do not do here: give the string "
         "by "
         "a parameter, callback f(..., out string NAME)"},
        {S "callback f(double x)\n",
         "2:12: expected in, out or inout (a parameter of the callback), found 'double'"},
        {S "callback f(in x)\n", "2:15: expected a type (char, short, int, long, int64, float, double, "
                                 "complex, string), found 'x'"},
        {S "callback f(in file x)\n", "2:15: a callback takes and gives numbers and strings, not a file"},
        {S "callback f(in string x[2])\n",
         "2:22: a callback takes and gives single strings, no arrays of them"},
        {S "callback f(in string s, in double x[s])\n",
         "2:37: 's' is no number that an expression could use"},
        {S "callback f(in double x[n])\n", "2:24: unknown name 'n'"},
        {S "in int n\ncallback f(in double x[m])\n", "3:24: unknown name 'm'"},
        {S "callback f(in double x[2*m + n])\nin int n\n", "2:26: unknown name 'm'"},
        {S "callback f(in double x[n])\nout int n\n",
         "2:24: 'n' is an output: its value is not known before the call"},
        {S "callback f(in double x[n])\nin double n[2]\n",
         "2:24: 'n' is an array: an expression can use scalars only"},
        {S "callback f(in double x[f])\n", "2:24: 'f' is no number that an expression could use"},
        {S "callback f(in int n, out double n)\n", "2:33: 'n' was declared already in line 2"},
        {S "callback f(in int n = 3)\n",
         "2:19: a parameter of a callback has a type and dimensions, no properties or default"},
        {S "callback double f(in double f)\n",
         "2:31: the callback 'f' returns a value: a parameter needs another name"},
        {S "in int f\ncallback f(in double x)\n", "3:10: 'f' was declared already in line 2"},
        {S "callback f(in double x)\nout double y[f]\n",
         "3:14: 'f' is no number that an expression could use"},
        {S "callback f(in double x)\nimplementation i\ncommand a \"{f}\"\n",
         "4:9: 'f' is a callback, which only a routine has"},
        {S "12\n", "2:1: expected a clause (in, out, inout, work, require, ...), found 12"},
        {S "text hello\n", "2:6: expected a text in quotes, found 'hello'"},
        {S "text \"a\"\ngams D\ntext \"b\" c\n", "4:10: expected the end of the line, found 'c'"},
        {S "in int n # the order\nout double A[n] = 3\n",
         "3:17: only a number that goes in, or an array of them, can have a "
         "default"},
        {S "in double A[2]\n\"text\" \"more\"\n", "3:8: expected ',' or the end of the line, found \"more\""},
        {S "gams \"D\"\n", "2:6: expected a GAMS class, as D2a1, found \"D\""},
        {S "gams D2\ngams D3\n", "3:1: 'gams' was given already in line 2"},
        {S "in integer n\n", "2:4: expected a type (char, short, int, long, "
                             "int64, float, double, complex, "
                             "...), found 'integer': Fortran's INTEGER is written 'int'"},
        {S "in real x\n",
         "2:4: expected a type, found 'real': this one is for families: problem ?gesv for s, d, c, z; "
         "Fortran's REAL is written 'float', its DOUBLE PRECISION 'double'"},
        {S "in double precision x\n",
         "2:21: expected ',', '[' or the end of the line, found 'x': Fortran's DOUBLE "
         "PRECISION is written 'double'"},
        {S "in int n\nin double A(n,n)\n",
         "3:12: expected ',', '[' or the end of the line, found '(': extents stand "
         "in brackets: A[n], A[m, n]"},
        {S "in float* x\n",
         "2:9: expected the name of an argument, found '*': an array is declared with its extents: "
         "float x[n]"},
        {S "in const double x\n",
         "2:4: expected a type (char, short, int, long, int64, float, double, complex, ...), "
         "found 'const': 'in' says that the routine does not change it: in double x[n]"},
        {S "in size_t n\n",
         "2:4: expected a type (char, short, int, long, int64, float, double, complex, ...), found "
         "'size_t': sizes are written 'int64' (or 'int' where the routine takes 32 bits)"},
        {S "in LOGICAL n\n",
         "2:4: expected a type (char, short, int, long, int64, float, double, complex, ...), found "
         "'LOGICAL': a LOGICAL of Fortran is passed as an 'int', 0 for .FALSE. and 1 for .TRUE."},
        {S "in int p[3]\nout int i[2]\nin double A[2, 2] csr(p, i)\n",
         "4:22: 'i' goes along with 'A', which is 'in': expected 'in' or 'inout', found 'out'"},
        {S "work int p[3]\nout int i[2]\nout double A[2, 2] csc(p, i)\n",
         "4:23: 'p' goes along with 'A', which is 'out': expected 'in', 'inout' or 'out', found 'work'"},
        {S "in int n\nout double x\nimplementation i\nc x = f(n, x)\n",
         "5:3: 'x' is what f() returns: it cannot be among the parameters, too"},
        {S "in doubel x\n", "2:4: expected a type (char, short, int, long, "
                            "int64, float, double, complex, "
                            "...), found 'doubel': did you mean 'double'?"},
        {S "in n\n", "2:4: expected a type (char, short, int, long, int64, "
                     "float, double, complex, ...), found 'n'"},
        {S "in int\n", "2:7: expected the name of an argument, found the end of the line"},
        {S "in int n m\n", "2:10: expected ',', '[' or the end of the line, found 'm'"},
        {S "in int n,\nin int m\n", "3:1: expected the name of an argument, found 'in': this word has a "
                                    "meaning of its own in the language"},
        {S "in int and\n", "2:8: expected the name of an argument, found 'and': "
                           "this word has a meaning of "
                           "its own in the language"},
        {S "in int max\n", "2:8: expected the name of an argument, found 'max': "
                           "this word has a meaning of "
                           "its own in the language"},
        {S "in int n\nin double n\n", "3:11: 'n' was declared already in line 2"},
        {S "in double A[n]\n", "2:13: unknown name 'n'"},
        {S "in int n\nin double A[N]\n", "3:13: unknown name 'N': did you mean 'n'?"},
        {S "in int n\nin double A[]\n", "3:13: expected a value, found ']'"},
        {S "in int n\nin double A[n\n", "4:1: expected an operator, ',', ':' or ']', found the end of the "
                                        "file: the '[' in line 3, column 12 has not "
                                        "been closed"},
        {S "in double A[1,1,1,1,1,1,1,1]\n", "2:26: an array has at most 7 dimensions"},
        {S "in int n\nin double x[n:0]\n",
         "3:16: expected an operator or ',', found ']': a section is start, "
         "end and skip: x[n:0,n - 1,2]"},
        {S "in int n\nin double x[n:0,n - 1,2,3:1]\n",
         "3:28: expected an operator or ',', found ']': a section is "
         "start, end and skip: x[n:0,n - 1,2]"},
        {S "in int n\nin double x[n:0,n - 1,2\n", "4:1: expected an operator, ',' or ']', found the end of "
                                                  "the file: the '[' in line 3, column 12 has not been "
                                                  "closed"},
        {S "in int n\nin double x[n:0,n - 1,k]\n", "3:23: unknown name 'k'"},
        {S "in double x[4:3,1,1]\n", "2:17: the section of 'x': expected an end from its start on, found 1 "
                                     "behind 3"},
        {S "in double x[4:0,4,1]\n", "2:17: the section of 'x': expected its end below the size 4, found 4"},
        {S "in int n\nin double x[4:4,n,1]\n",
         "3:15: the section of 'x': expected its start below the size 4, found 4"},
        {S "in double x[4:0,3,0]\n", "2:19: the section of 'x': expected a skip from 1 on, found 0"},
        {S "in int n\nin double x[n:-1,n-1,1]\n",
         "3:15: the section of 'x': expected start to be a whole number from 0 on, found -1"},
        {S "in int n\nin double x[n:,n - 1,2]\n", "3:15: expected a value, found ','"},
        {S "in int n\nout int m\nin double x[n:0,m,1]\n",
         "4:17: 'm' is an output: its value is not known before the call"},
        {S "in int n\nin double x:0\n", "3:12: expected ',' or the end of the line, found ':'"},
        {S "work double w[4:0,1,1]\n", "2:16: a work array does not travel: it has no section"},
        {S "in double A[4:0,1,1,4] packed\n", "2:24: an array with a section is stored in full"},
        {S "out int m\nout double x[4:0,1,1] count(m)\n",
         "3:23: an array has a section or a count, not both"},
        {S "in int p[4:0,2,1], i[3]\nin double A[3,3] csc(p, i)\n",
         "3:21: 'p' has to be here as a whole: it has a section"},
        {S "in double A[3,3] banded(-1, 0)\n",
         "2:25: 'A' is banded: expected a number of diagonals below the main one from 0 on, found -1"},
        {S "in int n\nin double A[n,n] banded(1, 2 - 3, 1)\n",
         "3:28: 'A' is banded: expected a number of diagonals above the main one from 0 on, found 2 - 3"},
        {S "in double A[3,3] banded(1, 1, 1 - 2)\n",
         "2:31: 'A' is banded: expected a number of rows in front from 0 on, found 1 - 2"},
        {S "in int n\nrequire n > 0 \"{m} is no size\"\n", "3:15: unknown name 'm'"},
        {S "in int n\nrequire n > 0 \"{n} {\"\n",
         "3:15: '{' without '}' in a message (write {{ for a brace)"},
        {S "out int m\nin int n\nrequire n > 0 \"{m}\"\n",
         "4:15: 'm' is an output: its value is not known before the call"},
        {S "in string s[2,3]\n", "2:14: an array of strings has one dimension"},
        {S "in state s[2]\n", "2:11: a state has no dimensions"},
        {S "in file f[2:0,1,1]\n", "2:12: an array of files has no section"},
        {S "out int m\nout string s[2] count(m)\n", "3:17: an array of strings has no count"},
        {S "work string s[2]\n", "2:13: a string cannot be work memory"},
        {S "in file f[2]\nimplementation i\nfortran r_(character(f, 80)) in x.so\n",
         "4:22: expected the name of an array of strings, found 'f'"},
        {S "in file f, g\nimplementation i\nc r(f, g) in x.so\nfile f \"g\"\n",
         "3:16: 'f' and 'g' would have the same file 'g'"},
        {S "in file f\nimplementation i\nc r(f) in x.so\nfile f\n",
         "5:7: expected the name of the file in quotes, as \"mesh.vtk\", found the end of the line"},
        {S "in file f\nimplementation i\nc r(f) in x.so\nfile f \"../g\"\n",
         "5:8: expected the name of a file in the call's own folder: at most 63 characters, no '/', no "
         "blanks, not beginning with '.' or '-'"},
        {S "in file f\nimplementation i\nc r(f) in x.so\nfile f \"g\"\nfile f \"h\"\n",
         "6:6: 'f' has a name already: \"g\""},
        {S "in file f\nin int n\nimplementation i\nc r(n) in x.so\nfile f \"g\"\n",
         "6:6: 'f' is not among the parameters of r()"},
        {S "in int n\nimplementation i\nc r(n) in x.so\nfile n \"g\"\n",
         "5:6: 'n' is no file: a routine gets it in memory"},
        {S "in file f\nimplementation i\nc r(f) in x.so\nlimit \"3 MB\"\n",
         "5:7: expected a time, as \"10 s\", found \"3 MB\""},
        {S "out string s[2]\nimplementation i\nfortran r_(s) in x.so\n",
         "4:9: 's' is an array of strings that comes back, and Fortran's have one length: write character(s, "
         "80) among the parameters for its character(80) s(*)"},
        {S "in string s[2]\nimplementation i\nc r(character(s, 80)) in x.so\n",
         "4:5: character() is for Fortran: a C routine takes the array by its name"},
        {S "in int n\nimplementation i\nfortran r_(character(n, 80)) in x.so\n",
         "4:22: expected the name of an array of strings, found 'n'"},
        {S "in string s[2]\nimplementation i\nfortran r_(character(s)) in x.so\n",
         "4:23: expected ',' and the characters of an element, found ')'"},
        {S "in string s[2]\nimplementation i\nfortran r_(character(s, w)) in x.so\n",
         "4:25: unknown name 'w'"},
        {S "in string s[2], t[2]\nimplementation i\ncommand cat \"{s}{t}\"\n",
         "4:13: a word names at most one array of strings or files"},
        {S "in file f[2]\nimplementation i\ncommand cat\nstdin f\n",
         "5:7: 'f' is an array of files: they cannot be one stream"},
        {S "in double A[2,2] uper\n",
         "2:18: expected ',', a property or the end of the line, found 'uper': did you mean 'upper'?"},
        {S "in double A[2] upper\n", "2:16: only a matrix (two dimensions) can have this property"},
        {S "in double A[2,2] upper lower\n", "2:24: a matrix is upper or lower, not both"},
        {S "in double A[2,2] symmetric symmetric\n", "2:28: this property was given already"},
        {S "in double A[2,2] positive-definit\n",
         "2:18: expected ',', a property or the end of the line, found "
         "'positive-definit': did you mean "
         "'positive-definite'?"},
        {S "in double a upper\n", "2:13: only a matrix (two dimensions) can have this property"},
        {S "in double A[2,2] row_major\n", "2:18: expected ',', a property or the end of the line, found "
                                           "'row_major': did you mean 'row-major'?"},
        {S "out int n = 1\n", "2:11: only a number that goes in, or an array of them, can have a default"},
        {S "in string s[2] = 1\n",
         "2:16: only a number that goes in, or an array of them, can have a default"},
        {S "in string s = \"a\"\n",
         "2:13: only a number that goes in, or an array of them, can have a default"},
        {S "in int n = \n", "2:11: expected a value, found the end of the line"},
        {S "in int n = m, m\n", "2:12: 'm' is not declared yet: a default can "
                                "use what was declared before it"},
        {S "in int n = n\n", "2:12: 'n' is not declared yet: a default can use "
                             "what was declared before it"},
        {S "work int l\n", "2:10: 'l' needs dimensions (a work array) or a value (l = ...)"},
        {S "in double w[4] query\n", "2:16: only a work array of one dimension "
                                     "can have its size asked of the routine"},
        {S "work double w[4, 4] query\n",
         "2:21: only a work array of one dimension can have its size asked of "
         "the routine"},
        {S "work double w[4] query\n",
         "2:15: a work array with 'query' has a work value as its size: work int "
         "lwork = ..., then w[lwork] query"},
        {S "in int n\nwork double w[n] query\n",
         "3:15: a work array with 'query' has a work value as its size: work int "
         "lwork = ..., then w[lwork] "
         "query"},
        {S "work double l = 4.0\nwork double w[l] query\n",
         "3:15: a work array with 'query' has a work value as its size: work int "
         "lwork = ..., then w[lwork] "
         "query"},
        {S "work int l = 4\nwork double w[l] query\nimplementation i\nc f(w, l + "
           "1)\n",
         "5:3: 'w' is asked for with 'query', but its size 'l' is not among the "
         "parameters of f()"},
        {S "in double A[2] packed\n", "2:16: only a matrix (two dimensions) can be packed"},
        {S "in double A[2, 2] packed banded(1, 1)\n", "2:26: the matrix is packed already"},
        {S "in double A[2, 2] packed(n)\n", "2:26: unknown name 'n'"},
        {S "in double A[2, 2] packed('U', 1)\n", "2:29: expected ')', found ','"},
        {S "in double A[2, 2] banded\n",
         "2:25: expected '(' and the numbers of diagonals below and above the "
         "main one, found the end of the line"},
        {S "in double A[2, 2] banded(1)\n", "2:27: expected an operator or ',', found ')'"},
        {S "in double A[2, 2] banded(1, 2, 3, 4)\n", "2:33: expected ')', found ','"},
        {S "in double A[2, 2] csc\n", "2:22: expected '(' and the arrays of pointers and of numbers, found "
                                      "the end of the line"},
        {S "in double A[2, 2] csc(p)\n", "2:24: expected ',' and the array of numbers, found ')'"},
        {S "in double A[2, 2] csc(p, i, 2)\n", "2:29: expected 0 or 1, the number of the first row, found 2"},
        {S "in double A[2, 2] csr(p, i)\n", "2:22: there is no argument 'p'"},
        {S "in int p[3]\nin double i[2], A[2, 2] csr(p, i)\n",
         "3:28: 'i' has to be an array of int, long or int64 with one dimension"},
        {S "in double A[2, 2] csc(p, i\n", "3:1: expected ',' or ')', found the end of the file: the '(' in "
                                           "line 2, column 22 has not been closed"},
        {S "in double A[2, 2] pakced\n",
         "2:19: expected ',', a property or the end of the line, found 'pakced': "
         "did you mean 'packed'?"},
        {S "in int p[3], i[1]\nin double A[2, 2] csc(p, i) = 1\n",
         "3:29: only a number that goes in, or an array of them, can have a "
         "default"},
        {S "in double A[2] count(1)\n", "2:16: only an array that comes back can have a count"},
        {S "out double a count(1)\n", "2:14: only an array that comes back can have a count"},
        {S "out double A[2] count\n",
         "2:22: expected '(' and how many of the last dimension come back, found "
         "the end of the line"},
        {S "in int b\nout double A[2] unread(b == 0)\n",
         "3:17: only an inout array can be unread: what is never read is declared 'out'"},
        {S "in int b\ninout double a unread(b == 0)\n",
         "3:16: only an inout array can be unread: what is never read is declared 'out'"},
        {S "inout double A[2] unread\n",
         "2:25: expected '(' and the calls that do not read it, found the end of the line"},
        {S "in int b\ninout double A[2] unread(b == 0) unread(b == 1)\n",
         "3:34: when it is unread was said already"},
        {S "in int b\ninout string A[2] unread(b == 0)\n", "3:19: an array of strings is always read"},
        {S "out int b\ninout double A[2] unread(b == 0)\n",
         "3:26: 'b' is an output: its value is not known before the call"},
        {S "work int b = 1\ninout double A[2] unread(b == 0)\n",
         "3:26: 'b' is a work value: whether an argument is read must follow from the inputs"},
        {S "in complex b\ninout double A[2] unread(c == 0)\n", "3:26: unknown name 'c'"},
        {S "in complex b\ninout double A[if(b == 0, 1, 2)] unread(b == 0)\n",
         "3:19: 'b' is no number that an expression could use"},
        {S "inout double A[2] unread(1 > 2)\n", "2:26: 1 > 2 never holds: the array is always read"},
        {S "inout double A[2] unread(1 < 2)\n",
         "2:26: 1 < 2 always holds: an array that is never read is declared 'out'"},
        {S "in int b, p[3], i[1]\ninout double A[2, 2] csc(p, i) unread(b == 0)\n",
         "3:39: 'A' is always read: it is of a compressed matrix"},
        {S "in int b\ncallback f(inout double x[2] unread(b == 0))\n",
         "3:25: a parameter of a callback has a type and dimensions, no properties or default"},
        {S "out int m\nout double A[2] count(m) count(m)\n", "3:26: a count was given already"},
        {S "out double A[2, 2] packed count(1)\n",
         "2:27: only an array that is stored in full by columns can have a "
         "count"},
        {S "out double A[2, 2] count(1) packed\n", "2:29: an array with a count is stored in full"},
        {S "out double A[2, 2] count(1) row-major\n", "2:29: an array with a count is stored by columns"},
        {S "out double A[2] count(A)\n", "2:23: 'A' is an array: an expression can use scalars only"},
        {S "in int k index(3)\n", "2:10: only an input array of int, long or int64 can hold indices"},
        {S "in double x[3] index(3)\n", "2:16: only an input array of int, long or int64 can hold indices"},
        {S "out int p[3] signed-index(3)\n",
         "2:14: only an input array of int, long or int64 can hold indices"},
        {S "in int p[3] index\n", "2:18: expected '(' and the largest index, found the end of the line"},
        {S "in int p[3] index(3) signed-index(3)\n", "2:22: what it is an index of was said already"},
        {S "in int p[3] index(m)\n", "2:19: unknown name 'm'"},
        {S "in int k finite\n", "2:10: only inputs of float, double and complex types can be finite"},
        {S "out double x finite\n", "2:14: only inputs of float, double and complex types can be finite"},
        {S "work string s\n", "2:13: a string cannot be work memory"},
        {S "work int l = 4\nin int n = l\n",
         "3:12: 'l' is a work value: the default of an input cannot use it"},
        {S "work int l = 4\nrequire l > 0\n", "3:9: 'l' is a work value: a precondition can use inputs only"},
        {S "work doubel w[4]\n", "2:6: expected a type (char, short, int, long, int64, float, double, "
                                 "complex, ...), found 'doubel': did you mean 'double'?"},
        {S "out int k\nin double A[k]\n", "3:13: 'k' is an output: its value is not known before the call"},
        {S "in double A[2], B[A]\n", "2:19: 'A' is an array: an expression can use scalars only"},
        {S "in complex z\nwork z\n", "3:6: 'z' is no number that an expression could use"},
        {S "in string s\nrequire s > 0\n", "3:9: 's' is no number that an expression could use"},
        {S "require\n", "2:8: expected a value, found the end of the line"},
        {S "in int n\nrequire n >= 0 n\n",
         "3:16: expected an operator, ',', a message in quotes or the end of the "
         "line, found 'n'"},
        {S "in int n\nrequire n > 0, \"m\"\n", "3:16: expected a value, found \"m\""},
        {S "in int n\nrequire n => 0\n", "3:11: expected an operator, found '=>': write '>='"},
        {S "in int n\nrequire n =< 0\n", "3:11: expected an operator, found '=<': write '<='"},
        {S "work 1\nwork 2\n", "3:6: 'work' was given already in line 2"},
        {S "memory 1\nmemory 2\n", "3:1: 'memory' was given already in line 2"},
        {S "work\n", "2:5: expected a value, found the end of the line"},
        {S "idempotent maybe\n", "2:12: expected yes or no, found 'maybe'"},
        {S "idempotent\n", "2:11: expected yes or no, found the end of the line"},
        {S "fortran f(n)\n", "2:1: 'fortran' belongs behind an 'implementation NAME' line"},
        {S "error 1 > 0 \"m\"\n", "2:1: 'error' belongs behind an 'implementation NAME' line"},
        {S "note 1 > 0 \"m\"\n", "2:1: 'note' belongs behind an 'implementation NAME' line"},
        {S "implementation\n", "2:15: expected the name of the implementation, "
                               "found the end of the line"},
        {S "implementation i\n", "2:16: the implementation 'i' has no call: expected a line with "
                                 "'fortran', 'c', 'parallel' or 'command'"},
        {S "implementation i\nimplementation j\nc f()\n",
         "2:16: the implementation 'i' has no call: expected a line with "
         "'fortran', 'c', 'parallel' or 'command'"},
        {S "implementation i\nc f()\nimplementation i\nc f()\n",
         "4:16: there is an implementation 'i' already in line 2"},
        {I "in int m\n", "5:1: 'in' belongs before the first implementation"},
        {I "parallel f(n)\n",
         "5:10: expected 'fortran' or 'c', found 'f': parallel fortran SYMBOL(PARAMETERS) in LIBRARY is "
         "what all ranks call together"},
        {I "spread n rows of n\n", "5:8: 'spread' belongs behind a 'parallel' call"},
        {I "c g(n, y)\nsuits n > 1\n", "6:7: 'suits' belongs behind a 'parallel' call"},
        {I "c g(y, leading(n))\n", "5:16: 'n' is not a matrix stored in full, column by column"},
        {I "parallel c g(desc(n))\n", "5:19: 'n' is not a matrix stored in full, column by column"},
        {I "parallel c g(n, y)\nspread n rows of n\n",
         "6:8: 'n' is no vector: only vectors go with the rows or columns of a matrix"},
        {I "fotran f(n)\n", "5:1: expected 'fortran', 'c', 'parallel', 'command', 'limit', "
                            "'error', 'note', 'implementation' or 'problem', found "
                            "'fotran': did you mean 'fortran'?"},
        {I "error 1 > 0 \"m\"\n", "5:7: 'error' belongs behind the call "
                                  "('fortran', 'c' or 'command') it is about"},
        {I "note 1 > 0 \"m\"\n", "5:6: 'note' belongs behind the call "
                                 "('fortran', 'c' or 'command') it is about"},
        {I "c f(n, y)\nnote n > 0\n",
         "6:11: expected an operator or a message in quotes, found the end of the line"},
        {I "c f(n, y)\nnote 0 > 1 \"m\"\n", "6:6: 0 > 1 never holds: its message would never be seen"},
        {I "c f(n, y)\nc g(n, y)\n", "6:3: the implementation 'i' has a call already: f()"},
        {I "c f(n)\n", "5:3: the output 'y' is not among the parameters of f()"},
        {I "c f(n, Y)\n", "5:8: unknown name 'Y': did you mean 'y'?"},
        {I "c f n, y\n", "5:5: expected '(' before the parameters of the routine, found 'n'"},
        {I "c 3(n, y)\n", "5:3: expected the symbol of a routine, found 3"},
        {I "c f(n, y,)\n", "5:10: expected a value, found ')'"},
        {I "c f(n y)\n", "5:7: expected an operator, ',' or ')', found 'y'"},
        {I "c f(n, y) from lib\n", "5:11: expected 'in LIBRARY' or the end of the line, found 'from'"},
        {I "c f(n, y) in\n", "5:13: expected the name of a library, as "
                             "liblapack.so.3, found the end of the line"},
        {I "c f(n, y) in \"l\" now\n", "5:18: expected the end of the line, found 'now'"},
        {I "c f(1.5, y)\n", "5:5: the real value 1.5 needs a type: write float 1.5 or double 1.5"},
        {I "c f(sqrt(n), y)\n", "5:5: the real value sqrt(n) needs a type: write "
                                "float sqrt(n) or double sqrt(n)"},
        {I "c f(string n, y)\n", "5:5: an expression cannot be passed as a string"},
        {I "c f(n, y, out n)\n", "5:15: expected a new name for a result, found 'n': this is an "
                                 "argument, write it without 'out'"},
        {I "c f(n, y, out a, out a)\n", "5:22: there is a result 'a' already"},
        {I "c f(n, y, out string s)\n", "5:22: a result is a number, not a string"},
        {I "c f(n, y, 2*y)\n", "5:13: 'y' is an array: an expression can use scalars only"},
        {I "c f(n, y, inf + 1)\n", "5:11: unknown name 'inf'"},
        {T "c f(s)\n", "4:3: 's' is a string whose length is not known before the call, which only a command "
                       "can give back (a routine has arrays of char, or of strings, string NAME[1], or a "
                       "file)"},
        {I "c n = f(n, y)\n", "5:3: 'n' cannot take what the routine returns: "
                              "expected an 'out' scalar"},
        {I "c y = f(n, y)\n", "5:3: 'y' cannot take what the routine returns: "
                              "expected an 'out' scalar"},
        {I "c r = (n, y)\n", "5:7: expected the symbol of a routine, found '('"},
        {I "c f(n, y, out info)\nerror info \"m\n", "6:12: this text has no closing '\"' on its line"},
        {I "c f(n, y, out info)\nerror info\n",
         "6:11: expected an operator or a message in quotes, found the end of "
         "the line"},
        {I "c f(n, y, out info)\nerror inof > 0 \"m\"\n", "6:7: unknown name 'inof': did you mean 'info'?"},
        {I "c f(n, y, out info)\nerror info > 0 \"{inof}\"\n",
         "6:16: unknown name 'inof': did you mean 'info'?"},
        {I "c f(n, y, out info)\nerror info > 0 \"{info\"\n",
         "6:16: '{' without '}' in a message (write {{ for a brace)"},
        {I "c f(n, y, out info)\nerror info > 0 \"info}\"\n",
         "6:16: '}' without '{' in a message (write }} for a brace)"},
        {I "c f(n, y, out info)\nerror info > 0 \"{}\"\n",
         "6:16: expected a value, found the end of the expression"},
        {I "c f(n, y, out info)\nerror info > 0 \"{info 1}\"\n",
         "6:16: expected an operator or '}', found 1"},
        {I "c f(n, y, out info)\nerror y > 0 \"m\"\n",
         "6:7: 'y' is an array: an expression can use scalars only"},
        {"problem p \"\"\n", "1:11: a problem needs a title: one line that says what it does"},
        {S "gams zz9\n", "2:6: expected a GAMS class, as D2a1, found 'zz9'"},
        {S "work 1\nwork 2\n", "3:6: 'work' was given already in line 2"},
        {S "in double x[-1]\n", "2:13: -1: expected a size >= 0, found -1"},
        {S "in double x[1.5]\n", "2:13: 1.5: expected an integer, found 1.5"},
        {S "in int n\nin double x[n/0]\n", "3:15: n/0: division by zero"},
        {S "in double x[10^10, 10^10]\n", "2:20: no memory has room for 'x': its size overflows"},
        {S "in int m = 1.5\n", "2:12: expected an integer for int, found 1.5"},
        {S "in int m = 1e30\n", "2:12: expected an integer for int, found 1e+30"},
        {S "in char c = 300\n", "2:13: 300 does not fit char (8 bits)"},
        {S "in int n\nin double A[n, n] packed('X')\n",
         "3:26: expected 'U' or 'L', the triangle that is packed, found 'X'"},
        {S "in int m, n\nin double A[m, n] packed\n",
         "3:16: 'A' is packed: expected a square matrix, found A[m, n]"},
        {S "in int m, n\nin double A[m, n] symmetric\n",
         "3:16: 'A' is symmetric: expected a square matrix, found A[m, n]"},
        {S "in int n, nz\nin int Ap[n], Ai[nz]\nin double A[n, n] csc(Ap, Ai)\n",
         "3:11: 'Ap' has the pointers of 'A': expected Ap[n + 1], found Ap[n]"},
        {S "work 1/0\n", "2:6: 1/0: division by zero"},
        {S "work -5\n", "2:6: expected a number of operations >= 0, found -5"},
        {S "memory 2 - 3\n", "2:8: expected a number of bytes >= 0, found 2 - 3"},
        {S "in int n, k = n + 1/0\n", "2:19: 1/0: division by zero"},
        {S "in int n, k = 2*(n%0)\n", "2:20: n % 0: division by zero"},
        {S "in int n\nrequire n > 0, 1/0 > 2\n", "3:16: 1/0 > 2: division by zero"},
        {S "in int n\nrequire n > 0 and 2 > 3, 1 > 2\n",
         "3:26: 1 > 2 never holds: every call would be refused"},
        {I "c f(n, y, out info)\nerror info > 1/0 \"x\"\n", "6:14: 1/0: division by zero"},
        {I "c f(n, y, out info)\nerror info > 1 \"x {info + 1/0}\"\n", "6:16: 1/0: division by zero"},
        {I "c f(n, y, 1/0)\n", "5:11: 1/0: division by zero"},
        {I "c f(n, y, 3000000000)\n", "5:11: 3000000000 does not fit int (32 bits)"},
        {I "command \"/bin/echo\" \"{1/0}\"\nfile y\n", "5:21: 1/0: division by zero"},
        {S "callback f(in double x)\nin int n\nimplementation i\nc g(n)\n",
         "5:3: the callback 'f' is not among the parameters of g()"},
        {S "callback f(in double x)\nin int n\nimplementation i\ncommand a\n",
         "5:9: 'f' is a callback, which only a routine has"},
        {I "command a\nfile y\nlimit \"1 s\"\nlimit \"2 s\"\n",
         "8:7: the implementation 'i' has a limit of this kind already"},
        {I "command a\nfile y\nlimit \"1 MiB\"\nlimit \"9 s\"\nlimit \"2 MiB\"\n",
         "9:7: the implementation 'i' has a limit of this kind already"},
        {I "c f(n, y)\nerror 0 \"x\"\n", "6:7: 0 never holds: its message would never be seen"},
        {S "checkpoint yes\ninout double x\n\nproblem q \"t\"\n",
         "2:12: checkpoint: 'p' has an inout argument, which its first attempt may have overwritten: use in "
         "and out"},
        {"problem p for s, d \"t\"\nin int n\n",
         "1:9: the name of a family has a place for that of its members: problem ?gesv for s, d, c, z"},
        {S "memory 10^400\n", "2:8: 10^400: the result is not a finite number"},
        {I "c f(n, y, int 1.5)\n", "5:15: expected an integer for int, found 1.5"},
        {"problem p", "1:10: expected the title of the problem in quotes, found "
                      "the end of the file"},
        {S "in int n\nin double A[n, n\nout double y\n",
         "4:1: expected an operator, ',', ':' or ']', found 'out': the '[' in line 3, column 12 has not been "
         "closed"},
        {I "c f(n, y\n",
         "6:1: expected an operator, ',' or ')', found the end of the file: the '(' in line 5, "
         "column 4 has not been closed"},
        {I "c ?f(n, y)\n", "5:3: expected the symbol of a routine, found '?': '?' stands for the letter of a "
                           "member, in families only: problem ?gesv for s, d, c, z"},
        {S "in int n\nin double A[n, n]\nout double y\nimplementation i\ncommand \"cat\" \"{A}\"\nfile A "
           "\"m.mtx\" matrix-market\n",
         "7:16: expected the end of the line, found 'matrix': the format stands before the name of the file: "
         "file A matrix-market \"A.mtx\""},
        {S "in int n\nproblem p \"again\"\n", "3:9: the problem 'p' is described already in f.esp:1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_message(rows[i].text, strlen(rows[i].text), rows[i].message);
}

/* `head`, then `n` times `piece` with %d the number of the turn, then `tail`.
 */
static void check_repeated(const char *head, const char *piece, int n, const char *tail, const char *message)
{
    size_t size = strlen(head) + (size_t)n * (strlen(piece) + 12) + strlen(tail) + 1;
    char *text = malloc(size), *at = text;
    assert_non_null(text);
    at += sprintf(at, "%s", head);
    for (int i = 0; i < n; i++)
        for (const char *p = piece; *p; p++)
            at += *p == '%' ? sprintf(at, "%d", i) : sprintf(at, "%c", *p);
    at += sprintf(at, "%s", tail);
    if (message) {
        check_message(text, (size_t)(at - text), message);
    } else {
        struct problem_set *set;
        struct esp_error error;
        if (problem_parse(text, (size_t)(at - text), "f.esp", &set, &error) != ESP_OK)
            fail_msg("%s", error.text);
        problem_set_destroy(set);
    }
    free(text);
}

static void everything_has_a_limit_that_is_told(void **state)
{
    (void)state;
    check_repeated(S, "in int a%\n", 64, "", NULL);
    check_repeated(S, "in int a%\n", 65, "", "66:8: a problem has at most 64 arguments");
    check_repeated(S "in int n\n", "require n > %\n", 64, "", NULL);
    check_repeated(S "in int n\n", "require n > %\n", 65, "", "67:9: a problem has at most 64 preconditions");
    check_repeated(S, "implementation i%\nc f()\n", 16, "", NULL);
    check_repeated(S, "implementation i%\nc f()\n", 17, "",
                   "34:16: a problem has at most 16 implementations");
    check_repeated(I "c f(y", ", n", 127, ")\n", NULL);
    check_repeated(I "c f(y", ", n", 128, ")\n", "5:389: a routine has at most 128 parameters");
    check_repeated(I "c f(y", ", out r%", 16, ")\n", NULL);
    check_repeated(I "c f(y", ", out r%", 17, ")\n", "5:146: a call has at most 16 results");
    check_repeated(I "c f(y)\n", "error n > % \"m\"\n", 64, "", NULL);
    check_repeated(I "c f(y)\n", "error n > % \"m\"\n", 65, "",
                   "70:7: an implementation has at most 64 error clauses and notes");
    check_repeated(I "c f(y)\nerror n > 0 \"", "{n}", 16, "\"\n", NULL);
    check_repeated(I "c f(y)\nerror n > 0 \"", "{n}", 17, "\"\n",
                   "6:13: a message has at most 16 expressions");
    check_repeated(S "in double a[max(1", ", 1", 15, ")]\n", NULL);
    check_repeated(S "in double a[max(1", ", 1", 16, ")]\n", "2:63: max() takes at most 16 operands");
    check_repeated(S, "text \"0123456789012345678901234567890123456789\"\n", 1300, "", NULL);
    check_repeated(S, "text \"0123456789012345678901234567890123456789\"\n", 1400, "",
                   "1:1: the description of one problem has at most 65536 bytes");
    check_repeated(S, "# a comment of thirty-two bytes\n", 32800, "",
                   " a description file has at most 1048576 bytes, this one has 1049614");
}

static void a_nul_byte_is_no_end(void **state)
{
    (void)state;
    check_message(S "in\0int n\n", sizeof S + 9,
                  "2:3: the byte 0x00 has no meaning outside of texts and comments");
}

/* A piece of every kind of clause; each prefix of it is parsed, from memory
 * that ends where it ends. */
static const char whole[] = "problem whole \"title with \\\"quotes\\\"\" # comment\n"
                            "text \"first \xc3\xa9\"\ntext \"second\"\ngams D2a1\n"
                            "in char uplo = 'U' \"which\", trans = 'N'\nin int n, nrhs = 1, k = max(1, "
                            "n/2)\nin double complex z\n"
                            "inout double A[n, n] symmetric positive-definite\nout int p[min(n, "
                            "nrhs)], count\nin string s\n"
                            "work int lwork = 34*n\nwork double w[lwork]\nidempotent no\n"
                            "require n >= 0, nrhs >= 1 and not n % 2 == 7 \"sizes\"\nwork 2/3*n^3 + "
                            "1.5e0\nmemory 8*n\n"
                            "implementation one\nfortran r = whole_(uplo, n, A, max(1,n), double 2.5, "
                            "w, lwork, p, count, z, out\n"
                            "info) in libwhole-1.2.so.3\nerror info < 0 \"argument {-info} {{is}} "
                            "{uplo}\"\nerror r != 0 \"r\"\n"
                            "implementation two\nc whole(n, A, p, count) in \"/usr/lib/lib "
                            "whole.so\"\n";

static void no_truncation_does_harm(void **state)
{
    (void)state;
    size_t accepted = 0;
    for (size_t n = 0; n < sizeof whole; n++) {
        char *text = malloc(n ? n : 1);
        assert_non_null(text);
        memcpy(text, whole, n);
        struct problem_set *set = NULL;
        struct esp_error error = {0};
        if (problem_parse(text, n, "whole", &set, &error) == ESP_OK) {
            accepted++;
            problem_set_destroy(set);
        } else {
            assert_int_equal(error.status, ESP_SYNTAX);
            assert_memory_equal(error.text, "whole:", 6);
        }
        free(text);
    }
    assert_true(accepted > 10);
    struct problem_set *set;
    struct esp_error error;
    if (problem_parse(whole, sizeof whole - 1, "whole", &set, &error) != ESP_OK)
        fail_msg("%s", error.text);
    assert_string_equal(set->problems[0]->title, "title with \"quotes\"");
    assert_string_equal(set->problems[0]->text, "first \xc3\xa9\nsecond");
    assert_string_equal(set->problems[0]->implementations[0].library, "libwhole-1.2.so.3");
    assert_string_equal(set->problems[0]->implementations[1].library, "/usr/lib/lib whole.so");
    assert_false(set->problems[0]->idempotent);
    problem_set_destroy(set);
}

static void no_changed_byte_does_harm(void **state)
{
    (void)state;
    static const char replacements[] = "\0\n\"'{}()[]=^-#9\xff";
    for (size_t n = 0; n + 1 < sizeof whole; n++)
        for (size_t r = 0; r + 1 < sizeof replacements; r++) {
            char text[sizeof whole];
            memcpy(text, whole, sizeof whole);
            text[n] = replacements[r];
            struct problem_set *set = NULL;
            if (problem_parse(text, sizeof whole - 1, "whole", &set, NULL) == ESP_OK)
                problem_set_destroy(set);
            else
                assert_null(set);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(wrong_descriptions_say_where_and_what),
    cmocka_unit_test(everything_has_a_limit_that_is_told),
    cmocka_unit_test(a_nul_byte_is_no_end),
    cmocka_unit_test(no_truncation_does_harm),
    cmocka_unit_test(no_changed_byte_does_harm),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
