#include "apiserver/kinds/rules_fixture.h"

namespace porthole::apiserver {
namespace {

struct SeccompRules : testing::Test {
    RulesOf pods{"", "v1", "Pod", "spec: {containers: [{name: c, image: i}]}"};

    std::string of_pod(const std::string& profile) {
        return pods.create(("spec: {securityContext: {seccompProfile: " + profile + "}}").c_str());
    }
};

TEST_F(SeccompRules, AProfileIsBelowTheDirectoryOfProfiles) {
    const std::string at = "spec.securityContext.seccompProfile.localhostProfile: Invalid value: ";
    for (const char* allowed : {"mine.json", "profiles/mine.json", "..data/mine.json"})
        EXPECT_EQ(of_pod("{type: Localhost, localhostProfile: " + std::string(allowed) + "}"), "") << allowed;
    for (const char* outside : {"../pods/any.json", "a/../../any.json", "..", "a/.."})
        EXPECT_EQ(of_pod("{type: Localhost, localhostProfile: " + std::string(outside) + "}"),
                  at + "\"" + outside + "\": must not contain '..'");
    EXPECT_EQ(of_pod("{type: Localhost, localhostProfile: /etc/any.json}"), at + "\"/etc/any.json\": must be a relative path");
    EXPECT_EQ(of_pod("{type: RuntimeDefault, localhostProfile: any.json}"),
              at + "\"any.json\": can only be set when seccomp type is Localhost");
}

TEST_F(SeccompRules, HoldForEachContainerToo) {
    EXPECT_EQ(
        pods.create(
            "spec: {containers: [{name: c, image: i, securityContext: {seccompProfile: {type: Localhost, localhostProfile: ../a}}}]}"),
        "spec.containers[0].securityContext.seccompProfile.localhostProfile: Invalid value: \"../a\": must not contain '..'");
}

}  // namespace
}  // namespace porthole::apiserver
