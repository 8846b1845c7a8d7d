#pragma once
#include <string_view>

#include <boost/json/error.hpp>

#include "base/result.h"

namespace porthole::schema {

/// The error of Boost.JSON's parser after reading `at` bytes, with Go's message as far as possible.
Error json_syntax_error(std::string_view text, std::size_t at, boost::json::error_code code);
/// Error: BadRequest if anything but whitespace follows the value that ends at byte `used`.
Result<void> check_nothing_follows(std::string_view text, std::size_t used);

}  // namespace porthole::schema
