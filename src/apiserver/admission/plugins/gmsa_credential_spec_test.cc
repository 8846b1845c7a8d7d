#include "api/core_v1.h"
#include "apiserver/admission/admission_fixture.h"
#include "apiserver/admission/policy_parameters.h"

#include <gmock/gmock.h>

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* Contents = R"({"CmsPlugins":["ActiveDirectory"],"DomainJoinConfig":{"NetBiosName":"CONTOSO"}})";

/// The GMSACredentialSpecs of a cluster.
struct Specs final : PolicyParameters {
    const schema::Kind* find_kind(const std::string& api_version, const std::string& kind) const override {
        return installed && api_version == "windows.k8s.io/v1" && kind == "GMSACredentialSpec" ? &ConfigMap::kind() : nullptr;
    }
    Result<PolicyParameterPtr> find(const schema::Kind&, const std::string& namespace_, const std::string& name) const override {
        EXPECT_EQ(namespace_, "") << "they have no namespace";
        if (name == "empty")
            return std::make_shared<const PolicyParameter>(PolicyParameter{.name = name, .object = schema::Value::object()});
        if (name != "web") return PolicyParameterPtr();
        return std::make_shared<const PolicyParameter>(
            PolicyParameter{.name = name, .object = schema::Value::object({{"credspec", *schema::parse_json(Contents)}})});
    }
    Result<std::vector<PolicyParameterPtr>> list(const schema::Kind&, const std::string&, const LabelSelector&,
                                                 std::size_t) const override {
        return std::vector<PolicyParameterPtr>();
    }
    bool installed = true;
};

/// One service account may use one name, or "*".
struct SpecRights final : Authorizer {
    Task<Decision> authorize(const AuthorizationAttributes& asked) override {
        EXPECT_EQ(asked.verb + " " + asked.group + "/" + asked.resource + " " + asked.namespace_,
                  "use windows.k8s.io/gmsacredentialspecs ns");
        EXPECT_TRUE(asked.user.in_group("system:serviceaccounts:ns"));
        if (broken) co_return Error(Reason::InternalError, "no answer");
        const bool may = asked.user.name == "system:serviceaccount:ns:trusted" && (granted == "*" || granted == asked.name);
        co_return may ? Decision::allow() : Decision::no_opinion("no rule");
    }
    std::string granted = "web";
    bool broken = false;
};

// SEC-12
struct GmsaCredentialSpecTest : AdmissionTest {
    static Pod pod(const char* account = "trusted") {
        Pod made = named<Pod>("ns", "p");
        made.spec.service_account_name = account;
        made.spec.containers.emplace_back().name = "main";
        return made;
    }
    static WindowsSecurityContextOptions& of_pod(Pod& pod) { return pod.spec.security_context.emplace().windows_options.emplace(); }
    template <class Container>
    static WindowsSecurityContextOptions& of_container(Container& container) {
        return container.security_context.emplace().windows_options.emplace();
    }
    static Pod naming(const char* name, const char* account = "trusted") {
        Pod made = pod(account);
        of_pod(made).gmsa_credential_spec_name = name;
        return made;
    }
    static EphemeralContainer debugger(const char* credential_spec) {
        EphemeralContainer made;
        made.name = "debugger";
        of_container(made).gmsa_credential_spec_name = credential_spec;
        return made;
    }

    Specs specs;
    SpecRights rights;
    AdmissionDependencies dependencies{.reader = reader_,
                                       .rbac = rbac_,
                                       .authorizer = rights,
                                       .random = random_,
                                       .loop = loop_,
                                       .systems = {},
                                       .policies = {.parameters = &specs}};
    AdmissionPluginPtr plugin = make_gmsa_credential_spec(dependencies);
};

TEST_F(GmsaCredentialSpecTest, APodGetsTheContentsOfTheSpecItNames) {
    Pod made = naming("web");
    EXPECT_EQ(create(*plugin, made), "");
    EXPECT_EQ(made.spec.security_context->windows_options->gmsa_credential_spec, Contents);
    EXPECT_THAT(warnings_, IsEmpty());
    Pod plain = pod("other");
    EXPECT_EQ(create(*plugin, plain), "");
}

TEST_F(GmsaCredentialSpecTest, EveryContainerGetsTheContentsOfItsOwn) {
    Pod made = pod();
    of_container(made.spec.containers[0]).gmsa_credential_spec_name = "web";
    made.spec.init_containers.emplace_back().name = "first";
    of_container(made.spec.init_containers[0]).gmsa_credential_spec_name = "web";
    made.spec.containers.emplace_back().name = "without";
    EXPECT_EQ(create(*plugin, made), "");
    EXPECT_EQ(made.spec.containers[0].security_context->windows_options->gmsa_credential_spec, Contents);
    EXPECT_EQ(made.spec.init_containers[0].security_context->windows_options->gmsa_credential_spec, Contents);
    EXPECT_FALSE(made.spec.containers[1].security_context);
}

TEST_F(GmsaCredentialSpecTest, TheServiceAccountNeedsTheRightToUseIt) {
    EXPECT_EQ(create(*plugin, naming("web", "other")),
              "pods \"p\" is forbidden: service account \"other\" is not authorized to `use` GMSA cred spec \"web\", reason: \"no rule\"");
    EXPECT_EQ(error_.reason, Reason::Forbidden);
    Pod written = naming("web", "other");
    written.spec.security_context->windows_options->gmsa_credential_spec = Contents;
    EXPECT_THAT(create(*plugin, written), HasSubstr("not authorized to `use`")) << "contents that are there already change nothing";
    Pod container = pod("other");
    of_container(container.spec.containers[0]).gmsa_credential_spec_name = "web";
    EXPECT_THAT(create(*plugin, container), HasSubstr("not authorized to `use`"));
    EXPECT_THAT(create(*plugin, naming("absent")), HasSubstr("not authorized to `use`"))
        << "who may not use a name does not learn whether it is";
    rights.broken = true;
    EXPECT_EQ(create(*plugin, naming("web")), "no answer");
}

TEST_F(GmsaCredentialSpecTest, ANameThatIsNotThereIsRefused) {
    rights.granted = "*";
    EXPECT_EQ(create(*plugin, naming("absent")),
              "Pod \"p\" is invalid: spec.securityContext.windowsOptions.gmsaCredentialSpecName: Not found: \"absent\"");
    EXPECT_THAT(create(*plugin, naming("empty")), HasSubstr("that GMSACredentialSpec has no credspec"));
}

TEST_F(GmsaCredentialSpecTest, ContentsHaveToBeThoseOfTheName) {
    Pod made = naming("web");
    std::string& contents = made.spec.security_context->windows_options->gmsa_credential_spec.emplace();
    contents = R"({"DomainJoinConfig": {"NetBiosName": "CONTOSO"}, "CmsPlugins": ["ActiveDirectory"]})";
    const std::string before = contents;
    EXPECT_EQ(create(*plugin, made), "") << "the same JSON";
    EXPECT_EQ(made.spec.security_context->windows_options->gmsa_credential_spec, before);
    for (const char* other : {R"({"DomainJoinConfig":{"NetBiosName":"OTHER"},"CmsPlugins":["ActiveDirectory"]})", "not JSON"}) {
        made.spec.security_context->windows_options->gmsa_credential_spec = other;
        EXPECT_THAT(create(*plugin, made), HasSubstr("windowsOptions.gmsaCredentialSpec: Invalid value: ")) << other;
        EXPECT_THAT(error_.message, HasSubstr("does not match the contents of GMSACredentialSpec \"web\""));
    }
}

TEST_F(GmsaCredentialSpecTest, ContentsWithoutANameAreRefused) {
    Pod made = pod();
    of_container(made.spec.containers[0]).gmsa_credential_spec = Contents;
    EXPECT_THAT(create(*plugin, made),
                HasSubstr("spec.containers[0].securityContext.windowsOptions.gmsaCredentialSpecName: Required value"));
}

TEST_F(GmsaCredentialSpecTest, ContainersThatAreAddedToAPodAreJudgedAsThoseOfANewOne) {
    Pod before = naming("web"), after = before;  // older than the definition: it has no contents, and gets none
    after.spec.ephemeral_containers.push_back(debugger("web"));
    ApiObject object = ApiObject::of(after), old = ApiObject::of(before);
    EXPECT_EQ(pass(*plugin, AdmissionOperation::Update, after.metadata, Pod::kind(), &object, &old, "ephemeralcontainers"), "");
    const Pod filled = object.view<Pod>();
    EXPECT_FALSE(filled.spec.security_context->windows_options->gmsa_credential_spec);
    EXPECT_EQ(filled.spec.ephemeral_containers[0].security_context->windows_options->gmsa_credential_spec, Contents);
    rights.granted = "";
    EXPECT_THAT(update(*plugin, before, after, "ephemeralcontainers"), HasSubstr("not authorized to `use`"));
    EXPECT_EQ(update(*plugin, filled, filled, "ephemeralcontainers"), "");
    EXPECT_EQ(update(*plugin, filled, filled), "") << "what is there was decided on when it came";
}

TEST_F(GmsaCredentialSpecTest, WithoutItsDefinitionANameDrawsAWarningAndContentsPass) {
    specs.installed = false;
    EXPECT_EQ(create(*plugin, naming("web", "other")), "");
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("spec.securityContext.windowsOptions.gmsaCredentialSpecName: has no effect")));
    Pod made = pod("other");
    of_pod(made).gmsa_credential_spec = Contents;
    EXPECT_EQ(create(*plugin, made), "");
    EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(GmsaCredentialSpecTest, MirrorPodsShowWhatTheirNodeRuns) {
    Pod mirror = naming("web", "");
    mirror.metadata.annotations["kubernetes.io/config.mirror"] = "x";
    EXPECT_EQ(create(*plugin, mirror), "");
    EXPECT_FALSE(mirror.spec.security_context->windows_options->gmsa_credential_spec);
}

}  // namespace
}  // namespace porthole::apiserver
