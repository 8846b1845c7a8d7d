#include "kubelet/images/image_name.h"

#include <gtest/gtest.h>

#include "kubelet/images/credentials.h"

namespace porthole::kubelet {
namespace {

TEST(ImageName, DefaultsAndRegistries) {
    struct {
        const char* text;
        const char* full;
        const char* registry;
    } const rows[] = {
        {"nginx", "nginx:latest", "docker.io"},
        {"team/app:1.0", "team/app:1.0", "docker.io"},
        {"registry:5000/app", "registry:5000/app:latest", "registry:5000"},
        {"127.0.0.1:5000/pulled/busybox:1", "127.0.0.1:5000/pulled/busybox:1", "127.0.0.1:5000"},
        {"localhost/a", "localhost/a:latest", "localhost"},
        {"r.example/a@sha256:0123456789abcdef0123456789abcdef", "r.example/a@sha256:0123456789abcdef0123456789abcdef", "r.example"},
    };
    for (const auto& row : rows) {
        const auto name = parse_image_name(row.text);
        ASSERT_TRUE(name) << row.text;
        EXPECT_EQ(name->full(), row.full);
        EXPECT_EQ(name->registry(), row.registry);
    }
}

TEST(ImageName, RefusesWhatIsNone) {
    for (const char* text : {"", "Nginx", "a b", "a:", "a/", "/a", "a//b", "a:b c", "a@sha256:1", "-a", "a:tag:more"})
        EXPECT_FALSE(parse_image_name(text)) << text;
    EXPECT_EQ(parse_image_name("a/B").error().message,
              "couldn't parse image name \"a/B\": invalid reference format: repository name must be lowercase");
}

TEST(Credentials, LongestPathFirstAndOnlyMatchingOnes) {
    auto secret = std::make_shared<core::Secret>();
    secret->type = "kubernetes.io/dockerconfigjson";
    secret->data[".dockerconfigjson"] =
        R"({"auths":{"https://r.example/v1/":{"username":"all"},"r.example/team":{"username":"team"},"other.example":{"username":"x"}}})";
    auto broken = std::make_shared<core::Secret>();
    broken->type = "kubernetes.io/dockerconfigjson";
    broken->data[".dockerconfigjson"] = "{";
    const auto found = registry_credentials(*parse_image_name("r.example/team/app:1"), {broken, secret});
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].username, "team");
    EXPECT_EQ(found[1].username, "all");
    for (const cri::AuthConfig& one : found)
        EXPECT_EQ(one.server_address, "") << "containerd ignores credentials whose address is no URL of its host";
}

}  // namespace
}  // namespace porthole::kubelet
