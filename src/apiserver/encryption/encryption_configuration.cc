#include "apiserver/encryption/encryption_configuration.h"

#include <algorithm>
#include <set>

#include "apiserver/validation/configuration_reader.h"
#include "apiserver/validation/field_errors.h"
#include "base/base64.h"
#include "base/strings.h"
#include "base/time/time.h"
#include "schema/yaml/yaml.h"

namespace porthole::apiserver {
namespace {

using Provider = EncryptionProvider;

constexpr std::string_view ConfigurationVersion = "apiserver.config.k8s.io/v1";

struct KeyedProvider {
    const char* name;
    Provider::Kind kind;
    std::vector<std::size_t> key_sizes;
};
const KeyedProvider KeyedProviders[] = {
    {"aesgcm", Provider::Kind::AesGcm, {16, 24, 32}},
    {"aescbc", Provider::Kind::AesCbc, {16, 24, 32}},
    {"secretbox", Provider::Kind::Secretbox, {32}},
};

struct GroupResource {
    std::string_view group, resource;
    bool operator==(const GroupResource&) const = default;
};
constexpr GroupResource Everything{"*", "*"};

GroupResource parse_group_resource(std::string_view text) {
    const std::size_t dot = text.find('.');
    if (dot == text.npos) return {"", text};
    return {text.substr(dot + 1), text.substr(0, dot)};
}

schema::Value list_of(const std::vector<std::string>& texts) {
    schema::Value list = schema::Value::array();
    for (const std::string& text : texts) list.as_array().emplace_back(text);
    return list;
}

/// "[16 24 32]"
std::string sizes_text(const std::vector<std::size_t>& sizes) {
    std::string text = "[";
    for (const std::size_t size : sizes) text += (text.size() > 1 ? " " : "") + std::to_string(size);
    return text + ']';
}

/// Reads the parts of a configuration and remembers what is wrong with them.
class Reader {
public:
    Result<EncryptionConfiguration> read(const schema::Value& tree);

    ConfigurationFaults faults;

private:
    void check_resources(const std::vector<std::string>& resources, const FieldPath& path);
    void check_overlap(const std::vector<std::string>& resources, const FieldPath& path);
    Provider read_provider(const schema::Value& value, const FieldPath& path);
    void read_keys(ConfigurationObject& from, const KeyedProvider& keyed, Provider& provider);
    Provider::Key read_key(ConfigurationObject& from, const KeyedProvider& keyed);
    void read_kms(ConfigurationObject& from, Provider& provider);

    FieldErrors errors_;
    std::set<std::string> kms_names_;
};

void Reader::check_overlap(const std::vector<std::string>& resources, const FieldPath& path) {
    bool overlaps = false, duplicates = false;
    for (std::size_t i = 0; i < resources.size(); ++i) {
        for (std::size_t j = 0; j < resources.size(); ++j) {
            if (i == j) continue;
            const GroupResource a = parse_group_resource(resources[i]), b = parse_group_resource(resources[j]);
            if (a == b)
                duplicates = true;
            else if (a == Everything || (a.group == b.group && (a.resource == "*" || b.resource == "*")))
                overlaps = true;
        }
    }
    if (duplicates) errors_.invalid(path, list_of(resources), "the same resource cannot be specified multiple times");
    if (overlaps)
        errors_.invalid(
            path, list_of(resources),
            "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked");
}

void Reader::check_resources(const std::vector<std::string>& resources, const FieldPath& path) {
    check_overlap(resources, path);
    for (std::size_t i = 0; i < resources.size(); ++i) {
        const std::string& text = resources[i];
        const GroupResource parsed = parse_group_resource(text);
        const char* wrong = nullptr;
        if (to_lower(text) != text)
            wrong = "resource name should not contain capital letters";
        else if (text == "*")
            wrong = "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources";
        else if (text == "apiserveripinfo" || text == "serviceipallocations" || text == "servicenodeportallocations")
            wrong = "resources which do not have REST API/s cannot be encrypted";
        else if (parsed.group == "events.k8s.io")
            wrong = "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file";
        else if (parsed.group == "extensions")
            wrong = "'extensions' group has been removed and cannot be used for encryption";
        else if (parsed.group == "*" && parsed.resource != "*")
            wrong = "encrypting the same resource across groups is not supported";
        if (wrong) errors_.invalid(path.index(i), text, wrong);
    }
}

Provider::Key Reader::read_key(ConfigurationObject& from, const KeyedProvider& keyed) {
    Provider::Key key{.name = from.text("name")};
    if (key.name.empty()) errors_.required(from.path().child("name"), "name is a mandatory field for a key");
    const std::string secret = from.text("secret");
    const FieldPath path = from.path().child("secret");
    if (secret.empty()) {
        errors_.required(path, "secret is a mandatory field for a key");
        return key;
    }
    auto bytes = decode_base64(secret);
    if (!bytes) {
        errors_.invalid(path, "REDACTED", "secrets must be base64 encoded");
        return key;
    }
    key.secret = std::move(*bytes);
    if (std::ranges::find(keyed.key_sizes, key.secret.size()) == keyed.key_sizes.end())
        errors_.invalid(path, "REDACTED",
                        "secret is not of the expected length, got " + std::to_string(key.secret.size()) + ", expected one of " +
                            sizes_text(keyed.key_sizes));
    return key;
}

void Reader::read_keys(ConfigurationObject& from, const KeyedProvider& keyed, Provider& provider) {
    provider.kind = keyed.kind;
    const schema::Array& keys = from.list("keys");
    const FieldPath path = from.path().child("keys");
    if (keys.empty()) errors_.required(path, "at least one keys is required");
    for (std::size_t i = 0; i < keys.size(); ++i) {
        ConfigurationObject one(keys[i], path.index(i), faults);
        provider.keys.push_back(read_key(one, keyed));
    }
}

void Reader::read_kms(ConfigurationObject& from, Provider& provider) {
    provider.kind = Provider::Kind::Kms;
    const std::string version = from.text("apiVersion"), endpoint = from.text("endpoint"), timeout = from.text("timeout");
    provider.name = from.text("name");
    const FieldPath name = from.path().child("name");
    if (provider.name.empty()) errors_.required(name, "name is a mandatory field for a provider");
    if (provider.name.contains(':'))
        errors_.invalid(name, provider.name, "invalid KMS provider name " + provider.name + ", must not contain ':'");
    if (!kms_names_.insert(provider.name).second)
        errors_.invalid(name, provider.name, "duplicate KMS provider name " + provider.name + ", names must be unique");
    if (!timeout.empty()) {
        const auto parsed = parse_duration(timeout);
        if (!parsed || *parsed <= Duration::zero())
            errors_.invalid(from.path().child("timeout"), timeout, "timeout should be a positive value");
        else
            provider.timeout = *parsed;
    }
    const FieldPath at = from.path().child("endpoint");
    const std::size_t scheme = endpoint.find("://");
    if (endpoint.empty())
        errors_.invalid(at, "", "endpoint is a mandatory field for a kms");
    else if (scheme == std::string::npos || endpoint.substr(0, scheme) != "unix")
        errors_.invalid(at, endpoint,
                        "unsupported scheme \"" + (scheme == std::string::npos ? "" : endpoint.substr(0, scheme)) +
                            "\" for KMS provider, only unix is supported");
    else
        provider.socket = endpoint.substr(scheme + 3);
    if (from.has("cachesize"))
        errors_.invalid(from.path().child("cachesize"), from.number("cachesize"), "cachesize is not supported in v2");
    // Differs from Kubernetes: version 1, deprecated since 1.28 and off since 1.29, is not there.
    if (version != "v2")
        errors_.invalid(from.path().child("apiVersion"), version,
                        "unsupported apiVersion apiVersion for KMS provider, only v2 is supported");
}

Provider Reader::read_provider(const schema::Value& value, const FieldPath& path) {
    Provider provider;
    ConfigurationObject from(value, path, faults);
    int found = 0;
    for (const KeyedProvider& keyed : KeyedProviders) {
        const schema::Value* below = from.object(keyed.name);
        if (!below) continue;
        ++found;
        ConfigurationObject object(*below, path.child(keyed.name), faults);
        read_keys(object, keyed, provider);
    }
    if (const schema::Value* below = from.object("kms")) {
        ++found;
        ConfigurationObject object(*below, path.child("kms"), faults);
        read_kms(object, provider);
    }
    if (const schema::Value* below = from.object("identity")) {
        ++found;
        provider.kind = Provider::Kind::Identity;
        const ConfigurationObject nothing(*below, path.child("identity"), faults);
    }
    // Not the value, as upstream shows it: it may have keys.
    if (found == 0)
        errors_.invalid(path, schema::Value::object(),
                        "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity");
    if (found > 1)
        errors_.invalid(path, "REDACTED",
                        "more than one provider specified in a single element, should split into different list elements");
    return provider;
}

Result<EncryptionConfiguration> Reader::read(const schema::Value& tree) {
    EncryptionConfiguration configuration;
    {
        ConfigurationObject root(tree, {}, faults);
        const std::string version = root.text("apiVersion"), kind = root.text("kind");
        if (version != ConfigurationVersion || kind != "EncryptionConfiguration")
            return Error(Reason::BadRequest, "no kind \"" + kind + "\" is registered for version \"" + version + "\"");
        const schema::Array& rules = root.list("resources");
        const FieldPath path("resources");
        if (rules.empty()) errors_.required(path, "at least one resources is required");
        for (std::size_t i = 0; i < rules.size(); ++i) {
            const FieldPath here = path.index(i);
            ConfigurationObject from(rules[i], here, faults);
            EncryptionConfiguration::Rule rule{.resources = from.texts("resources")};
            const FieldPath resources = here.child("resources"), providers = here.child("providers");
            if (rule.resources.empty()) errors_.required(resources, "at least one " + std::string(resources.text()) + " is required");
            check_resources(rule.resources, resources);
            const schema::Array& items = from.list("providers");
            if (items.empty()) errors_.required(providers, "at least one " + std::string(providers.text()) + " is required");
            for (std::size_t j = 0; j < items.size(); ++j) rule.providers.push_back(read_provider(items[j], providers.index(j)));
            configuration.rules.push_back(std::move(rule));
        }
    }
    if (!faults.wrong_types.empty()) return Error(Reason::BadRequest, faults.wrong_types.front());
    if (!faults.unknown.empty()) return Error(Reason::BadRequest, "strict decoding error: " + faults.unknown.front());
    if (!errors_.empty()) return Error(Reason::BadRequest, errors_.text());
    return configuration;
}

}  // namespace

Result<EncryptionConfiguration> EncryptionConfiguration::parse(std::string_view text) {
    if (text.empty()) return Error(Reason::BadRequest, "the file is empty");
    Reader reader;
    TRY(const schema::Value tree, read_configuration(text, reader.faults));
    return reader.read(tree);
}

std::string EncryptionConfiguration::text() const {
    schema::Value list = schema::Value::array();
    for (const Rule& rule : rules) {
        schema::Value providers = schema::Value::array();
        for (const EncryptionProvider& provider : rule.providers) {
            CHECK(provider.kind != Provider::Kind::Kms);
            schema::Value one = schema::Value::object();
            if (provider.kind == Provider::Kind::Identity) one["identity"] = schema::Value::object();
            for (const KeyedProvider& keyed : KeyedProviders) {
                if (keyed.kind != provider.kind) continue;
                schema::Value keys = schema::Value::array();
                for (const Provider::Key& key : provider.keys)
                    keys.as_array().push_back(schema::Value::object({{"name", key.name}, {"secret", encode_base64(key.secret)}}));
                one[keyed.name] = schema::Value::object({{"keys", std::move(keys)}});
            }
            providers.as_array().push_back(std::move(one));
        }
        list.as_array().push_back(schema::Value::object({{"resources", list_of(rule.resources)}, {"providers", std::move(providers)}}));
    }
    return schema::to_yaml(
        schema::Value::object({{"apiVersion", ConfigurationVersion}, {"kind", "EncryptionConfiguration"}, {"resources", std::move(list)}}));
}

std::vector<EncryptionProvider> EncryptionConfiguration::providers_of(std::string_view group, std::string_view resource) const {
    for (const GroupResource wanted : {GroupResource{group, resource}, GroupResource{group, "*"}, Everything}) {
        std::vector<EncryptionProvider> all;
        for (const Rule& rule : rules) {
            const bool named =
                std::ranges::any_of(rule.resources, [&](const std::string& text) { return parse_group_resource(text) == wanted; });
            if (named) all.insert(all.end(), rule.providers.begin(), rule.providers.end());
        }
        if (!all.empty()) return all;
    }
    return {};
}

EncryptionConfiguration reading_both(const EncryptionConfiguration& used, const EncryptionConfiguration& next) {
    std::set<std::string> resources;
    for (const EncryptionConfiguration* each : {&used, &next})
        for (const EncryptionConfiguration::Rule& rule : each->rules) resources.insert(rule.resources.begin(), rule.resources.end());
    const auto providers_of = [](const EncryptionConfiguration& configuration, const std::string& named) {
        const auto [group, resource] = parse_group_resource(named);
        auto providers = configuration.providers_of(group, resource);
        if (providers.empty()) providers.push_back({.kind = EncryptionProvider::Kind::Identity});
        return providers;
    };
    EncryptionConfiguration both;
    for (const std::string& named : resources) {
        auto providers = providers_of(used, named);
        for (EncryptionProvider& provider : providers_of(next, named))
            if (std::ranges::find(providers, provider) == providers.end()) providers.push_back(std::move(provider));
        both.rules.push_back({.resources = {named}, .providers = std::move(providers)});
    }
    return both;
}

}  // namespace porthole::apiserver
