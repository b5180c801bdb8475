# Writes the page as one file: each @PART:NAME@ of index.html becomes the file
# NAME of this folder.
#   cmake -DOUT=FILE -P join.cmake
file(READ ${CMAKE_CURRENT_LIST_DIR}/index.html page)
string(REGEX MATCHALL "@PART:[a-z.]+@" marks "${page}")
foreach(mark IN LISTS marks)
  string(REGEX REPLACE "@PART:(.*)@" "\\1" name "${mark}")
  file(READ ${CMAKE_CURRENT_LIST_DIR}/${name} part)
  string(STRIP "${part}" part)
  string(REPLACE "${mark}" "${part}" page "${page}")
endforeach()
file(WRITE ${OUT} "${page}")
