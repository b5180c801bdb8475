//===- Boost.cpp - Asio and Beast, non-template parts ---------------------===//

#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
