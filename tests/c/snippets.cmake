# cmake -DPAGE=docs/c.md -DOUTPUT=snippets.c -P snippets.cmake: the ```c blocks of a page as one program. A block that begins with "static" is
# a function; the others follow one another in main, where `store` is the path of a store.
cmake_minimum_required(VERSION 3.25)
file(READ ${PAGE} page)
set(functions "")
set(statements "")
set(fence "```c\n")
string(LENGTH "${fence}" fence_length)
while(TRUE)
  string(FIND "${page}" "${fence}" begin)
  if(begin EQUAL -1)
    break()
  endif()
  math(EXPR begin "${begin} + ${fence_length}")
  string(SUBSTRING "${page}" ${begin} -1 page)
  string(FIND "${page}" "```" end)
  string(SUBSTRING "${page}" 0 ${end} block)
  math(EXPR end "${end} + 3")
  string(SUBSTRING "${page}" ${end} -1 page)
  if(block MATCHES "^static")
    string(APPEND functions "${block}\n")
  else()
    string(APPEND statements "${block}\n")
  endif()
endwhile()
file(WRITE ${OUTPUT} "#include <hone/hone.h>
#include <stdio.h>
#include <stdlib.h>

${functions}
int main(int argc, char** argv) {
const char* const store = argc > 1 ? argv[1] : NULL;
${statements}
return 0;
}
")
