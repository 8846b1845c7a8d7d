#include "apiserver/kinds/rules_fixture.h"

namespace porthole::apiserver {
namespace {

RulesOf definitions() {
    return {"apiextensions.k8s.io", "v1", "CustomResourceDefinition", R"({
      metadata: {name: widgets.x.k8s.io, annotations: {api-approved.kubernetes.io: https://example.com/1}},
      spec: {group: x.k8s.io, scope: Namespaced, names: {plural: widgets, kind: Widget}, versions: [{name: v1, served: true, storage: true,
        schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}, b: {type: string}}}}}]}})"};
}

/// A version with these properties.
std::string versions(const std::string& properties) {
    return "{spec: {versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: " + properties +
           "}}}]}}";
}

TEST(DefinitionRules, AnUpdateMayKeepAFaultAndNotTradeItForAnother) {
    RulesOf rules = definitions();
    const std::string faulty = versions("{a: {type: text}, b: {type: string}}");
    EXPECT_EQ(rules.update(faulty.c_str(), "{spec: {names: {shortNames: [w]}}}"), "");
    EXPECT_EQ(rules.update(faulty.c_str(), versions("{a: {type: string}, b: {type: string}}").c_str()), "");
    EXPECT_TRUE(rules.update(faulty.c_str(), versions("{a: {type: string}, b: {type: text}}").c_str())
                    .starts_with("spec.versions[0].schema.openAPIV3Schema.properties[b].type: Unsupported value: \"text\""));
}

TEST(DefinitionRules, AnUpdateDoesNotTakeTheApprovalAway) {
    RulesOf rules = definitions();
    EXPECT_EQ(rules.update("{metadata: {annotations: {api-approved.kubernetes.io: null}}}"),
              "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "
              "\"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111");
    EXPECT_EQ(
        rules.update("{metadata: {annotations: {api-approved.kubernetes.io: certainly}}}"),
        "metadata.annotations[api-approved.kubernetes.io]: Invalid value: \"certainly\": protected groups must have approval annotation "
        "\"api-approved.kubernetes.io\" with either a URL or a reason starting with \"unapproved\", see "
        "https://github.com/kubernetes/enhancements/pull/1111");
    EXPECT_EQ(rules.update("{metadata: {annotations: {api-approved.kubernetes.io: unapproved}}}"), "");
    EXPECT_EQ(rules.update("{metadata: {annotations: {api-approved.kubernetes.io: null}}}", "{metadata: {labels: {a: b}}}"), "")
        << "what was let in stays editable";
}

TEST(DefinitionRules, ThePatternsOfAllVersionsAreBoundedTogether) {
    RulesOf rules = definitions();
    const auto version = [](int number) {
        std::string properties;
        for (int i = 0; i < 60; ++i)
            properties +=
                (i ? ", p" : "p") + std::to_string(i) + ": {type: string, pattern: '[^" + std::to_string(number * 100 + i) + "x]{999}'}";
        return "{name: v" + std::to_string(number) + ", served: true, storage: " + (number == 1 ? "true" : "false") +
               ", schema: {openAPIV3Schema: {type: object, properties: {" + properties + "}}}}";
    };
    EXPECT_EQ(rules.create(("{spec: {versions: [" + version(1) + "]}}").c_str()), "");
    EXPECT_TRUE(rules.create(("{spec: {versions: [" + version(1) + ", " + version(2) + ", " + version(3) + "]}}").c_str())
                    .contains("Forbidden: the patterns of the definition are too complex"));
}

}  // namespace
}  // namespace porthole::apiserver
