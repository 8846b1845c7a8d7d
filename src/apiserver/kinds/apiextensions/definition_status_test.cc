#include "apiserver/kinds/apiextensions/definition_status.h"

#include <gtest/gtest.h>

#include "objects/conditions.h"

namespace porthole::apiserver {
namespace {

const Timestamp Now = Timestamp::from_seconds(1'700'000'000);

CustomResourceDefinition widgets() {
    CustomResourceDefinition definition;
    definition.metadata.name = "widgets.example.com";
    definition.spec.group = "example.com";
    definition.spec.names = {.plural = "widgets", .singular = "widget", .short_names = {"wd"}, .kind = "Widget", .list_kind = "WidgetList"};
    return definition;
}

std::string text_of(const CustomResourceDefinitionStatus& status, std::string_view type) {
    const auto* condition = objects::find_condition(status.conditions, type);
    return condition ? condition->status + " " + condition->reason + " " + condition->message : "";
}

TEST(DefinitionStatus, AcceptsNamesThatNobodyHas) {
    const auto status = settled_status(widgets(), {}, Now);
    EXPECT_EQ(text_of(status, "NamesAccepted"), "True NoConflicts no conflicts found");
    EXPECT_EQ(text_of(status, "Established"), "True InitialNamesAccepted the initial names have been accepted");
    EXPECT_EQ(status.accepted_names, widgets().spec.names);
}

TEST(DefinitionStatus, ReportsTheNameThatAnotherHas) {
    struct {
        const char* name;
        TakenNames taken;
        const char* condition;
    } const rows[] = {
        {"plural", {.resources = {"widgets"}}, R"(False PluralConflict "widgets" is already in use)"},
        {"singular", {.resources = {"widget"}}, R"(False SingularConflict "widget" is already in use)"},
        {"short name", {.resources = {"wd"}}, R"(False ShortNamesConflict "wd" is already in use)"},
        {"kind", {.kinds = {"Widget"}}, R"(False KindConflict "Widget" is already in use)"},
        {"list kind", {.kinds = {"WidgetList"}}, R"(False ListKindConflict "WidgetList" is already in use)"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto status = settled_status(widgets(), row.taken, Now);
        EXPECT_EQ(text_of(status, "NamesAccepted"), row.condition);
        EXPECT_EQ(text_of(status, "Established"), "False NotAccepted not all names are accepted");
    }
}

TEST(DefinitionStatus, KeepsWhatItHasWhileAnotherNameIsRefused) {
    CustomResourceDefinition definition = widgets();
    definition.status = settled_status(definition, {}, Now);
    definition.spec.names.short_names = {"gadget"};
    const auto status = settled_status(definition, {.resources = {"gadget"}}, Now);
    EXPECT_EQ(status.accepted_names.short_names, std::vector<std::string>{"wd"});
    EXPECT_EQ(text_of(status, "NamesAccepted"), R"(False ShortNamesConflict "gadget" is already in use)");
    EXPECT_EQ(text_of(status, "Established"), "True InitialNamesAccepted the initial names have been accepted");
}

TEST(DefinitionStatus, TellsOfApprovalInKubernetesOwnGroups) {
    CustomResourceDefinition definition = widgets();
    definition.spec.group = "gateway.networking.k8s.io";
    constexpr const char* Type = "KubernetesAPIApprovalPolicyConformant";
    definition.metadata.annotations["api-approved.kubernetes.io"] = "https://example.com/1";
    EXPECT_EQ(text_of(settled_status(definition, {}, Now), Type), "True ApprovedAnnotation approved in https://example.com/1");
    definition.metadata.annotations["api-approved.kubernetes.io"] = "unapproved, trial";
    EXPECT_EQ(text_of(settled_status(definition, {}, Now), Type), R"(False UnapprovedAnnotation not approved: "unapproved, trial")");
    definition.spec.group = "k8s.io";
    for (const char* wrong : {"yes", "https://", "://host", "/path", "a b://host", "https://a b", "https://host/\n"}) {
        definition.metadata.annotations["api-approved.kubernetes.io"] = wrong;
        EXPECT_EQ(
            text_of(settled_status(definition, {}, Now), Type),
            "False InvalidAnnotation protected groups must have approval annotation \"api-approved.kubernetes.io\" with either a URL or a "
            "reason starting with \"unapproved\", see https://github.com/kubernetes/enhancements/pull/1111")
            << wrong;
    }
    definition.metadata.annotations["api-approved.kubernetes.io"] = "";
    EXPECT_TRUE(text_of(settled_status(definition, {}, Now), Type).starts_with("False MissingAnnotation "));
    definition.spec.group = "example.com";
    EXPECT_EQ(text_of(settled_status(definition, {}, Now), Type), "");
}

}  // namespace
}  // namespace porthole::apiserver
