#include "scheduler/configuration/extender_rules.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/result.h"
#include "client/kubeconfig.h"
#include "net/tls/tls.h"

namespace porthole::scheduler {

namespace {

using namespace std::chrono_literals;
using namespace api::kubescheduler::v1;
using GivenExtender = api::kubescheduler::v1::Extender;  // of a file, not the one that is called
using schema::FieldErrors;
using schema::FieldPath;

/// Longer waits are mistakes, and would not fit into times.
constexpr Duration LongestCall = 24h;

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// "example.com/gpu", but not "kubernetes.io/gpu" or "requests.example.com/gpu".
bool is_extended_resource(std::string_view name) {
    const std::size_t slash = name.find('/');
    if (slash == name.npos || name.contains("kubernetes.io/") || name.starts_with("requests.")) return false;
    const std::string_view domain = name.substr(0, slash), own = name.substr(slash + 1);
    const auto is_word = [](std::string_view word) {
        return !word.empty() && is_alphanumeric(word.front()) && is_alphanumeric(word.back());
    };
    // As a quota names it, with "requests." in front.
    if (!is_word(domain) || domain.size() > 253 - 9 || domain.contains("..") || !is_word(own) || own.size() > 63) return false;
    return std::ranges::all_of(domain, [](char c) { return (is_alphanumeric(c) && !(c >= 'A' && c <= 'Z')) || c == '-' || c == '.'; }) &&
           std::ranges::all_of(own, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

class ExtenderReader {
public:
    ExtenderReader(const ReadFile& read_file, FieldErrors& errors) : read_file_(read_file), errors_(errors) {}

    ExtenderConfiguration read(const GivenExtender& given, const FieldPath& path) {
        ExtenderConfiguration made{.url_prefix = given.url_prefix,
                                   .filter_verb = given.filter_verb,
                                   .prioritize_verb = given.prioritize_verb,
                                   .preempt_verb = given.preempt_verb,
                                   .bind_verb = given.bind_verb,
                                   .weight = given.weight,
                                   .node_cache_capable = given.node_cache_capable,
                                   .ignorable = given.ignorable};
        check_url(given, path);
        if (!given.prioritize_verb.empty() && given.weight <= 0)
            errors_.invalid(path.child("weight"), given.weight, "must have a positive weight applied to it");
        if (given.http_timeout < 0s || given.http_timeout > LongestCall)
            errors_.invalid(path.child("httpTimeout"), given.http_timeout.count(), "must be between 0 and 24 hours");
        else if (given.http_timeout > 0s)
            made.timeout = given.http_timeout;
        for (std::size_t i = 0; i < given.managed_resources.size(); ++i)
            check_resource(given.managed_resources[i].name, path.child("managedResources").index(i).child("name"));
        for (const ExtenderManagedResource& resource : given.managed_resources) made.managed_resources.push_back(resource.name);
        made.tls = tls_of(given, path.child("tlsConfig"));
        return made;
    }

private:
    void check_url(const GivenExtender& given, const FieldPath& path) {
        if (given.url_prefix.empty()) return errors_.required(path.child("urlPrefix"));
        if (const auto url = client::parse_server_url(given.url_prefix); !url)
            return errors_.invalid(path.child("urlPrefix"), given.url_prefix, url.error().message);
        const std::pair<const char*, const std::string&> verbs[] = {{"filterVerb", given.filter_verb},
                                                                    {"preemptVerb", given.preempt_verb},
                                                                    {"prioritizeVerb", given.prioritize_verb},
                                                                    {"bindVerb", given.bind_verb}};
        for (const auto& [field, verb] : verbs)
            if (!client::parse_server_url("http://extender/" + verb)) errors_.invalid(path.child(field), verb, "must be a part of a URL");
    }

    void check_resource(const std::string& name, const FieldPath& path) {
        if (!is_extended_resource(name)) errors_.invalid(path, name, "is an invalid extended resource name");
        if (!resources_.insert(name).second) errors_.invalid(path, name, "duplicate extender managed resource name");
    }

    /// null for http.
    std::shared_ptr<const net::TlsClientContext> tls_of(const GivenExtender& given, const FieldPath& path) {
        const bool is_used = given.url_prefix.starts_with("https://");
        if (!is_used && !given.tls_config) return nullptr;
        const ExtenderTLSConfig none;
        const ExtenderTLSConfig& config = given.tls_config ? *given.tls_config : none;
        net::TlsClientOptions options{.ca_pem = content(config.ca_data, config.ca_file, path.child("caFile")),
                                      .certificate_pem = content(config.cert_data, config.cert_file, path.child("certFile")),
                                      .key_pem = content(config.key_data, config.key_file, path.child("keyFile")),
                                      .server_name = config.server_name,
                                      .insecure_skip_verify = config.insecure};
        if (config.insecure && !options.ca_pem.empty())
            errors_.invalid_as_a_whole(path, "specifying a root certificates file with the insecure flag is not allowed");
        // As upstream: who asks for HTTPS and names no authority trusts any.
        if (given.enable_https && options.ca_pem.empty()) options.insecure_skip_verify = true;
        auto context = net::TlsClientContext::create(options);
        if (!context) errors_.invalid_as_a_whole(path, context.error().message);
        return context && is_used ? *context : nullptr;
    }
    /// `data` if it is given, or else what is in `file`.
    std::string content(const std::string& data, const std::string& file, const FieldPath& path) {
        if (!data.empty() || file.empty() || !read_file_) return data;
        auto text = read_file_(file);
        if (text) return *std::move(text);
        errors_.invalid(path, file, text.error().message);
        return "";
    }

    const ReadFile& read_file_;
    FieldErrors& errors_;
    std::set<std::string> resources_;  // of all extenders
};

}  // namespace

std::vector<ExtenderConfiguration> take_extenders(const std::vector<GivenExtender>& given, const ReadFile& read_file, FieldErrors& errors) {
    const FieldPath path("extenders");
    ExtenderReader reader(read_file, errors);
    std::vector<ExtenderConfiguration> made;
    for (std::size_t i = 0; i < given.size(); ++i) made.push_back(reader.read(given[i], path.index(i)));
    const auto binders = std::ranges::count_if(given, [](const GivenExtender& one) { return !one.bind_verb.empty(); });
    if (binders > 1)
        errors.invalid(path, "found " + std::to_string(binders) + " extenders implementing bind", "only one extender can implement bind");
    return made;
}

}  // namespace porthole::scheduler
