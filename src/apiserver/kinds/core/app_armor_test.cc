#include "apiserver/kinds/rules_fixture.h"

namespace porthole::apiserver {
namespace {

#define CONTAINER(context) "containers: [{name: c, image: i, securityContext: {" context "}}]"
#define ANNOTATED(value) "metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/c: " value "}}"

struct AppArmorRules : testing::Test {
    RulesOf pods{"", "v1", "Pod", "spec: {containers: [{name: c, image: i}]}"};
};

std::string profile(const schema::Value& pod) {
    const schema::Value* found = pod.at_path({"spec", "containers"})->as_array().at(0).at_path({"securityContext", "appArmorProfile"});
    if (!found) return "none";
    return std::string(found->string_at({"type"})) + ":" + std::string(found->string_at({"localhostProfile"}));
}

TEST_F(AppArmorRules, RefuseInKubernetesWords) {
    constexpr const char* Needed = "must be set when AppArmor type is Localhost";
    const std::string of_container = "spec.containers[0].securityContext.appArmorProfile.localhostProfile: ";
    const struct {
        const char *name, *patch;
        std::string answer;
    } rows[] = {
        {"default", "spec: {" CONTAINER("appArmorProfile: {type: RuntimeDefault}") "}", ""},
        {"no name", "spec: {" CONTAINER("appArmorProfile: {type: Localhost}") "}", of_container + "Required value: " + Needed},
        {"empty name", "spec: {securityContext: {appArmorProfile: {type: Localhost, localhostProfile: ''}}}",
         std::string("spec.securityContext.appArmorProfile.localhostProfile: Required value: ") + Needed},
        {"padded name", "spec: {" CONTAINER("appArmorProfile: {type: Localhost, localhostProfile: ' a'}") "}",
         of_container + "Invalid value: \" a\": must not be padded with whitespace"},
        {"name of another type", "spec: {" CONTAINER("appArmorProfile: {type: Unconfined, localhostProfile: a}") "}",
         of_container + "Invalid value: \"a\": can only be set when AppArmor type is Localhost"},
        {"annotation for nobody", "metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/x: unconfined}}",
         "metadata.annotations[container.apparmor.security.beta.kubernetes.io/x]: Invalid value: \"x\": container not found"},
        {"annotation of no type", ANNOTATED("enforce"),
         "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Invalid value: \"enforce\": "
         "invalid AppArmor profile name: \"enforce\""},
        {"another type in the field", ANNOTATED("unconfined") "\nspec: {" CONTAINER("appArmorProfile: {type: RuntimeDefault}") "}",
         "spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type in annotation and field must match"},
        {"another name in the field",
         ANNOTATED("localhost/a") "\nspec: {" CONTAINER("appArmorProfile: {type: Localhost, localhostProfile: b}") "}",
         of_container + "Forbidden: apparmor profile in annotation and field must match"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_EQ(pods.create(row.patch), row.answer);
    }
}

TEST_F(AppArmorRules, TheAnnotationSetsTheFieldOfItsContainer) {
    EXPECT_EQ(profile(pods.created(ANNOTATED("localhost/mine"))), "Localhost:mine");
    EXPECT_EQ(profile(pods.created(ANNOTATED("runtime/default"))), "RuntimeDefault:");
    EXPECT_EQ(profile(pods.created(ANNOTATED("unconfined"))), "Unconfined:");
    EXPECT_EQ(profile(pods.created(ANNOTATED("''"))), "none");
    EXPECT_EQ(profile(pods.created(ANNOTATED("unconfined") "\nspec: {securityContext: {appArmorProfile: {type: Unconfined}}}")), "none")
        << "the pod's own says the same";
    EXPECT_EQ(profile(pods.created(ANNOTATED("unconfined") "\nspec: {os: {name: windows}}")), "none");
}

TEST_F(AppArmorRules, TheAnnotationIsFixedOnceThePodIsThere) {
    const std::string at = "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: Forbidden: may not ";
    EXPECT_EQ(pods.update(ANNOTATED("unconfined"), "metadata: {annotations: {other: x}}"), "");
    EXPECT_EQ(pods.update(ANNOTATED("unconfined"), ANNOTATED("runtime/default")), at + "remove or update AppArmor annotations");
    EXPECT_EQ(pods.update(ANNOTATED("unconfined"), ANNOTATED("null")), at + "remove or update AppArmor annotations");
    EXPECT_EQ(pods.update("{}", ANNOTATED("unconfined")), at + "add AppArmor annotations");
}

TEST_F(AppArmorRules, WarnOfTheAnnotation) {
    const std::string told =
        "metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the \"appArmorProfile\" field "
        "instead";
    EXPECT_EQ(pods.warnings(ANNOTATED("unconfined")), told);
    EXPECT_EQ(pods.warnings(ANNOTATED("unconfined") "\nspec: {securityContext: {appArmorProfile: {type: Unconfined}}}"), "");
    RulesOf deployments{"apps", "v1", "Deployment",
                        "spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, "
                        "spec: {containers: [{name: c, image: i}]}}}"};
    EXPECT_EQ(deployments.warnings("spec: {template: {" ANNOTATED("unconfined") "}}"), "spec.template." + told);
    EXPECT_EQ(deployments.create("spec: {template: {" ANNOTATED("x") "}}"),
              "spec.template.annotations[container.apparmor.security.beta.kubernetes.io/c]: Invalid value: \"x\": "
              "invalid AppArmor profile name: \"x\"");
}

}  // namespace
}  // namespace porthole::apiserver
