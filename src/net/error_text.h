#pragma once
// Private to this folder.
#include <string>

#include <boost/system/error_code.hpp>

namespace porthole::net {

/// "connection refused": the system's text, for the middle of a sentence; the same on Linux, on Windows and under Wine.
std::string text_of(const boost::system::error_code& error);

}  // namespace porthole::net
