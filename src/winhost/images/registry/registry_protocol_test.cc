#include <gtest/gtest.h>

#include "winhost/images/content/reference.h"
#include "winhost/images/registry/challenge.h"
#include "winhost/images/registry/url.h"

namespace porthole::winhost {
namespace {

TEST(Reference, IsCompletedAsDockerDoes) {
    struct {
        const char *text, *whole;
    } const rows[] = {
        {"busybox", "docker.io/library/busybox:latest"},
        {"team/app:2", "docker.io/team/app:2"},
        {"index.docker.io/team/app", "docker.io/team/app:latest"},
        {"127.0.0.1:5000/a/b", "127.0.0.1:5000/a/b:latest"},
        {"localhost/a:1", "localhost/a:1"},
        {"mcr.microsoft.com/oss/kubernetes/pause:3.5", "mcr.microsoft.com/oss/kubernetes/pause:3.5"},
        {"kubeletwin/pause", "docker.io/kubeletwin/pause:latest"},
    };
    for (const auto& row : rows) EXPECT_EQ(Reference::parse(row.text)->text(), row.whole) << row.text;
    const std::string digest = "sha256:" + std::string(64, 'a');
    EXPECT_EQ(Reference::parse("x.test/a@" + digest)->text(), "x.test/a@" + digest);
    EXPECT_EQ(Reference::parse("x.test/a:1@" + digest)->wanted(), digest);
}

TEST(Url, IsTakenApart) {
    const auto url = Url::parse("https://[fd00::1]:8443/v2/a?x=1#y");
    ASSERT_TRUE(url.has_value());
    EXPECT_EQ(url->host, "fd00::1");
    EXPECT_EQ(url->text(), "https://[fd00::1]:8443/v2/a?x=1");
    EXPECT_EQ(Url::parse("http://h")->text(), "http://h:80/");
    EXPECT_EQ(Url::parse("http://h/a")->resolve("/b?c")->text(), "http://h:80/b?c");
    EXPECT_EQ(Url::parse("https://h/a")->resolve("//x/b")->text(), "https://x:443/b");
    for (const char* bad : {"", "h/a", "ftp://h", "http://", "http://a b/", "http://h:port/", "http://user@h/", "http://h:99999/"})
        EXPECT_FALSE(Url::parse(bad).has_value()) << bad;
}

TEST(Challenge, IsReadLeniently) {
    const Challenge full = parse_challenge(R"(Bearer realm="https://a/t?x=1,2", Service = reg ,scope="a\"b")");
    EXPECT_EQ(full.scheme, "bearer");
    EXPECT_EQ(full.parameter("realm"), "https://a/t?x=1,2");
    EXPECT_EQ(full.parameter("service"), "reg");
    EXPECT_EQ(full.parameter("scope"), "a\"b");
    for (const char* odd : {"", "Basic", "Bearer ,,=,", "Bearer a=\"", "Bearer =x", "a b c d"}) parse_challenge(odd);
}

}  // namespace
}  // namespace porthole::winhost
