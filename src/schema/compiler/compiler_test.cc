#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "schema/compiler/checker.h"
#include "schema/compiler/names.h"
#include "schema/compiler/struct_writer.h"
#include "schema/compiler/table_writer.h"

namespace porthole::schemac {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::unique_ptr<Package>> packages;

std::vector<std::string> diagnostics_of(const std::string& text) {
    Diagnostics diagnostics;
    packages.clear();
    packages.push_back(parse_package("api/test.v1", "package test/v1 group=test openapi=io.test\n" + text, diagnostics));
    check(packages, diagnostics);
    return diagnostics.lines();
}

TEST(Names, FollowWireNames) {
    struct {
        const char* wire;
        const char* member;
    } const rows[] = {
        {"podIP", "pod_ip"},
        {"podIPs", "pod_ips"},
        {"clusterIPs", "cluster_ips"},
        {"hostPID", "host_pid"},
        {"httpGet", "http_get"},
        {"containerID", "container_id"},
        {"hostIPCMode", "host_ipc_mode"},
        {"template", "template_"},
        {"operator", "operator_"},
        {"openAPIV3Schema", "open_api_v3_schema"},
        {"fieldsV1", "fields_v1"},
        {"$ref", "ref"},
        {"x-kubernetes-int-or-string", "x_kubernetes_int_or_string"},
        {"serverAddressByClientCIDRs", "server_address_by_client_cidrs"},
        {"CDI_devices", "cdi_devices"},
        {"setHostnameAsFQDN", "set_hostname_as_fqdn"},
        {"uidMappings", "uid_mappings"},
        {"nonResourceURLs", "non_resource_urls"},
        {"targetWWNs", "target_wwns"},
    };
    for (const auto& row : rows) EXPECT_EQ(member_name(row.wire), row.member);
    EXPECT_EQ(enumerator_name("SANDBOX_READY"), "SandboxReady");
    EXPECT_EQ(enumerator_name("ClusterFirst"), "ClusterFirst");
    EXPECT_EQ(enumerator_name("TCP"), "Tcp");
    EXPECT_EQ(enumerator_name(""), "Empty");
}

TEST(Checker, RefusesWhatCannotBeRight) {
    EXPECT_THAT(diagnostics_of("type A\n  1 b B\n"), ElementsAre("api/test.v1:3: no such type: B (in A)"));
    EXPECT_THAT(diagnostics_of("type A\n  1 b other/v1.B\n"), ElementsAre("api/test.v1:3: no such type: other/v1.B (in A)"));
    EXPECT_THAT(diagnostics_of("type A\n  1 b string\n  1 c string\n"), ElementsAre("api/test.v1:4: number 1 is used twice in A"));
    EXPECT_THAT(diagnostics_of("type A\n  1 b string\n  2 b string\n"), ElementsAre("api/test.v1:4: name b is used twice in A"));
    EXPECT_THAT(diagnostics_of("type A\n  1 b string\ntype B\n  1 inline A\n  2 b string\n"),
                ElementsAre("api/test.v1:6: name b is used twice in B"));
    EXPECT_THAT(diagnostics_of("type A\n  1 b string enum=E\n"), ElementsAre("api/test.v1:3: no such enum: E"));
    EXPECT_THAT(diagnostics_of("type A\n  1 b A\n"), ElementsAre("api/test.v1:3: A contains itself by value"));
    EXPECT_THAT(diagnostics_of("type A\n  1 b string requird\n"), ElementsAre("api/test.v1:3: unknown attribute requird"));
    EXPECT_THAT(diagnostics_of("type A\n  x b string\n"), ElementsAre("api/test.v1:3: expected a field number, found x"));
    EXPECT_THAT(diagnostics_of("type A\ntype A\n"), ElementsAre("api/test.v1:3: A is declared twice"));
    EXPECT_THAT(diagnostics_of("type A\n  1 l B[] list=map(nam)\ntype B\n  1 name string\n"),
                ElementsAre("api/test.v1:3: list key nam is not a field of B"));
    EXPECT_THAT(diagnostics_of("  1 a string\n"), ElementsAre("api/test.v1:2: this line belongs to no kind or type"));
    EXPECT_THAT(diagnostics_of("service S\n  rpc M A B\n"),
                ElementsAre("api/test.v1:2: no such type: A", "api/test.v1:2: no such type: B"));
}

TEST(Checker, RefusesColumnsOfFieldsThatAreNotThere) {
    const auto column = [](const std::string& cell) {
        return diagnostics_of("kind A resource=as\n  column X string = " + cell +
                              "\n  1 spec S\ntype S\n  1 inline B\n  2 bs B[]\n  3 m map<string>\ntype B\n  1 name string\n");
    };
    for (const char* cell : {".spec.name", ".spec.name | <none>", ".spec.bs[0].name", ".spec.m.any", "join(.spec.bs, .spec.m, x)", "state"})
        EXPECT_THAT(column(cell), testing::IsEmpty()) << cell;
    EXPECT_THAT(column(".spec.nam | <none>"), ElementsAre("api/test.v1:3: no such field: .spec.nam (of column X)"));
    EXPECT_THAT(column(".spec.name.first"), ElementsAre("api/test.v1:3: no such field: .spec.name.first (of column X)"));
    EXPECT_THAT(column("join(.spec.bs, .spec.ms)"), ElementsAre("api/test.v1:3: no such field: .spec.ms (of column X)"));
    EXPECT_THAT(column(".spec.name wide"), ElementsAre("api/test.v1:3: no such field: .spec.name wide (of column X)"));
}

TEST(Checker, RefusesDefaultsOfAnotherType) {
    const struct {
        const char *type, *right, *wrong;
    } rows[] = {
        {"string?", "\"a\"", "a"}, {"int32", "-1", "\"1\""},      {"bool", "false", "no"},       {"IntOrString", "25", "many"},
        {"B?", "{}", "null"},      {"string[]", "[\"a\"]", "{}"}, {"map<string>", "{}", "\"\""}, {"double", "0.5", "half"},
    };
    const auto with = [](const std::string& type, const std::string& json) {
        return diagnostics_of("type A\n  1 f " + type + " default=" + json + "\ntype B\n  1 name string\n");
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.type);
        EXPECT_THAT(with(row.type, row.right), testing::IsEmpty());
        EXPECT_THAT(with(row.type, row.wrong),
                    ElementsAre(std::string("api/test.v1:3: default=") + row.wrong + " is not the JSON of a value of this type"));
    }
}

TEST(Writer, MakesAStructAndItsTable) {
    ASSERT_THAT(diagnostics_of("enum Mode closed Fast Slow\n"
                               "/// A thing.\n"
                               "kind Thing resource=things short=th namespaced\n"
                               "  column Mode string = .spec.mode\n"
                               "  1 spec ThingSpec\n"
                               "type ThingSpec\n"
                               "  1 inline Base\n"
                               "  2 mode string default=\"Fast\" enum=Mode\n"
                               "  3 replicas int32? min=0\n"
                               "  4 parts Base[] list=map(name) patch=merge(name)\n"
                               "  5 self ThingSpec?\n"
                               "type Base\n"
                               "  1 name string required\n"),
                testing::IsEmpty());
    const std::string structs = write_structs(*packages[0]);
    EXPECT_THAT(structs, HasSubstr("struct ThingSpec : ::porthole::api::test::v1::Base {\n"
                                   "    std::string mode;\n"
                                   "    std::optional<std::int32_t> replicas;\n"
                                   "    std::vector<::porthole::api::test::v1::Base> parts;\n"
                                   "    ::porthole::schema::Box<::porthole::api::test::v1::ThingSpec> self;\n"));
    EXPECT_THAT(structs, HasSubstr("\n\nextern template class ::porthole::schema::Box<::porthole::api::test::v1::ThingSpec>;\n"));
    EXPECT_THAT(structs, testing::Not(HasSubstr("Box<::porthole::api::test::v1::Base>"))) << "only what is optional somewhere is boxed";
    EXPECT_LT(structs.find("struct Base {"), structs.find("struct ThingSpec :")) << "a base comes before what derives from it";
    const std::string tables = write_tables(*packages[0]);
    EXPECT_THAT(tables, HasSubstr(R"(.default_json = "\"Fast\"", .enumeration = &enum_Mode)"));
    EXPECT_THAT(tables, HasSubstr(R"("A thing.")"));
    EXPECT_THAT(tables, HasSubstr("constinit const InlinedType ThingSpec_inlined[] = {{1, &::porthole::api::test::v1::tables::Base}, };"));
    EXPECT_THAT(tables, HasSubstr("\ntemplate class ::porthole::schema::Box<::porthole::api::test::v1::ThingSpec>;\n"));
    EXPECT_THAT(write_registry(packages), HasSubstr("&::porthole::api::test::v1::tables::Thing_kind,"));
}

TEST(Writer, DefinesMembersOfKindsAndOfLargeStructsOnce) {
    std::string text = "kind Thing resource=things\n  1 small Small\ntype Small\n  1 name string\ntype Large\n  1 inline Small\n";
    for (int i = 2; i <= 13; ++i) text += "  " + std::to_string(i) + " f" + std::to_string(i) + " string\n";
    ASSERT_THAT(diagnostics_of(text), testing::IsEmpty());
    const std::string structs = write_structs(*packages[0]), tables = write_tables(*packages[0]);
    for (const std::string name : {"Thing", "Large"}) {
        EXPECT_THAT(structs, HasSubstr(name + "(" + name + "&& other) noexcept;\n"));
        EXPECT_THAT(tables, HasSubstr(name + "::" + name + "(" + name + "&& other) noexcept = default;\n"));
    }
    EXPECT_THAT(structs, testing::Not(HasSubstr("Small(Small&& other)"))) << "small structs stay aggregates";
    EXPECT_THAT(tables, testing::Not(HasSubstr("Small::Small")));
}

}  // namespace
}  // namespace porthole::schemac
