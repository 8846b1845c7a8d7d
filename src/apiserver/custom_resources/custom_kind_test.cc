#include "apiserver/custom_resources/custom_kind.h"

#include <gtest/gtest.h>

#include "schema/convert.h"
#include "schema/version_order.h"
#include "schema/yaml/yaml.h"

namespace porthole::apiserver {
namespace {

CustomResourceDefinition widgets() {
    const auto tree = schema::parse_yaml(R"(
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - {name: v1alpha1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer, default: 3}}}}}}
status:
  acceptedNames: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
)");
    return *schema::from_value<CustomResourceDefinition>(*tree);
}

TEST(CustomKind, HasAResourceForEveryServedVersion) {
    std::uint64_t form = 0;
    const auto kind = CustomKind::create(widgets(), form);
    ASSERT_TRUE(kind);
    const auto resources = (*kind)->resources();
    ASSERT_EQ(resources.size(), 2u);
    EXPECT_EQ(resources[0]->kind->version, "v1");
    EXPECT_EQ(resources[1]->kind->version, "v1beta1");
    EXPECT_NE(resources[0]->form, resources[1]->form);
    EXPECT_EQ(resources[0]->prefix, "/registry/example.com/widgets/");
}

TEST(CustomKind, LivesAsLongAsItsResources) {
    std::uint64_t form = 0;
    ResourcePtr resource = (*CustomKind::create(widgets(), form))->resources().front();
    EXPECT_EQ(resource->kind->plural, "widgets");
}

TEST(CustomKind, ReadsWhatAnotherVersionWrote) {
    std::uint64_t form = 0;
    const ResourcePtr resource = (*CustomKind::create(widgets(), form))->resources().front();
    const auto tree = resource->conversion.from_stored(
        *schema::parse_yaml("{apiVersion: example.com/v1beta1, kind: Widget, metadata: {name: a}, spec: {gone: 1}}"));
    EXPECT_EQ(tree, *schema::parse_yaml("{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, spec: {size: 3}}"));
}

TEST(CustomKind, PrefersVersionsAsUpstreamDoes) {
    std::vector<std::string> versions{"v1beta1", "foo1", "v10beta3", "v3beta1",   "v11alpha2", "v2",
                                      "v1",      "v10",  "v11beta2", "v12alpha1", "foo10"};
    std::ranges::sort(versions, schema::is_preferred_version);
    EXPECT_EQ(versions, (std::vector<std::string>{"v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v1beta1", "v12alpha1", "v11alpha2",
                                                  "foo1", "foo10"}));
}

}  // namespace
}  // namespace porthole::apiserver
