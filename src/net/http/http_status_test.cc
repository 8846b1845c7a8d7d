#include "net/http/http_status.h"

#include <gtest/gtest.h>

namespace porthole::net {
namespace {

TEST(HttpDate, IsReadAsItIsWritten) {
    const SystemTime time{std::chrono::seconds(784'111'777)};
    EXPECT_EQ(http_date(time), "Sun, 06 Nov 1994 08:49:37 GMT");
    EXPECT_EQ(parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), time);
}

TEST(HttpDate, HasOneFormOnly) {
    for (const char* text : {"", "Mon, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
                             "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
                             "Sun, 06 Nov 1994 08:61:37 GMT", "Sun, 06 Nov 19N4 08:49:37 GMT", "Sun, 06 Nov 1994 08:-1:37 GMT",
                             "Sun, 06 Nov 0019 08:49:37 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"})
        EXPECT_FALSE(parse_http_date(text)) << text;
}

}  // namespace
}  // namespace porthole::net
