// The compiled half of Beast, once for the whole program. Bytes of a peer that break an assertion of its must end their connection, not the
// program: Http1Parser makes an error of the exception.
#define BOOST_ENABLE_ASSERT_HANDLER
#include <boost/assert.hpp>
#include <boost/beast/src.hpp>
#include <stdexcept>

namespace boost {

void assertion_failed(const char* expression, const char*, const char*, long) { throw std::logic_error(expression); }
void assertion_failed_msg(const char* expression, const char*, const char*, const char*, long) { throw std::logic_error(expression); }

}  // namespace boost

// As it was, for other files that are compiled with this one.
#undef BOOST_ENABLE_ASSERT_HANDLER
#include <boost/assert.hpp>
