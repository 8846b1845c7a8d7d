#include <gtest/gtest.h>

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <stdexcept>

namespace porthole::net {
namespace {

TEST(Beast, ThrowsWhereAnAssertionFails) {
    boost::beast::http::response_parser<boost::beast::http::empty_body> parser;
    boost::system::error_code error;
    EXPECT_THROW(parser.put_eof(error), std::logic_error);  // it asserts that there was a first byte
}

}  // namespace
}  // namespace porthole::net
