//===- Boost.cpp - Those parts of Asio and Beast that are no templates ----===//

#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
