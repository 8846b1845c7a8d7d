#include "apiserver/kinds/certificates/signer_name.h"

#include <algorithm>

#include "apiserver/kinds/checks.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

constexpr std::size_t DomainLimit = 253, PathLimit = 253 + 63 + 1, SignerNameLimit = DomainLimit + PathLimit + 1;
constexpr std::size_t AnnotationsLimit = 256 << 10;

/// Invalid at the first of the labels, separated by dots, that `check` finds problems with.
void check_labels(std::string_view segment, names::Problems (*check)(std::string_view), const FieldPath& path, FieldErrors& errors) {
    for (std::size_t at = 0; at <= segment.size();) {
        const std::size_t end = std::min(segment.find('.', at), segment.size());
        const std::string_view label = segment.substr(at, end - at);
        const names::Problems problems = check(label);
        for (const std::string& problem : problems)
            errors.invalid(path, std::string(segment), "validating label " + quote(label) + ": " + problem);
        if (!problems.empty()) return;
        at = end + 1;
    }
}

std::string lower_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return text;
}

}  // namespace

void check_signer_name(const std::string& name, const FieldPath& path, FieldErrors& errors) {
    if (!check_required(name, path, errors)) return;
    if (std::ranges::count(name, '/') != 1)
        return errors.invalid(path, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'");
    const std::size_t slash = name.find('/');
    const std::string domain = name.substr(0, slash);
    if (domain.size() > DomainLimit) errors.too_long(path, DomainLimit);
    check_labels(domain, names::check_dns1123_label, path, errors);
    if (!domain.contains('.')) errors.invalid(path, domain, "should be a domain with at least two segments separated by dots");
    check_labels(std::string_view(name).substr(slash + 1), names::check_dns1123_subdomain, path, errors);
    if (name.size() > SignerNameLimit) errors.too_long(path, SignerNameLimit);
}

bool is_kubernetes_signer(std::string_view name) {
    const std::string_view domain = name.substr(0, name.find('/'));
    return domain == "kubernetes.io" || domain.ends_with(".kubernetes.io");
}

names::Problems check_trust_bundle_name(std::string_view name, const std::string& signer) {
    if (signer.empty()) {
        if (name.contains(':')) return {"ClusterTrustBundle without signer name must not have \":\" in its name"};
        return names::check_dns1123_subdomain(name);
    }
    std::string prefix = signer + ":";
    std::ranges::replace(prefix, '/', ':');
    if (!name.starts_with(prefix)) return {"ClusterTrustBundle for signerName " + signer + " must be named with prefix " + prefix};
    return names::check_dns1123_subdomain(name.substr(prefix.size()));
}

void check_user_annotations(const std::map<std::string, std::string>& annotations, const FieldPath& path, FieldErrors& errors) {
    std::size_t size = 0;
    for (const auto& [key, value] : annotations) {
        size += key.size() + value.size();
        const std::string name = lower_case(key);
        const names::Problems problems = names::check_qualified_name(name);
        if (name.empty())
            errors.required(path);
        else if (!problems.empty())
            invalid_all(errors, path, name, problems);
        else if (!name.contains('/'))
            errors.invalid(path, name, "must be a domain-prefixed key (such as \"acme.io/foo\")");
    }
    if (size > AnnotationsLimit) errors.too_long(path, AnnotationsLimit);
}

std::int32_t longest_pod_certificate_seconds(std::string_view signer) {
    constexpr std::int32_t Day = 24 * 60 * 60;
    return is_kubernetes_signer(signer) ? Day : 91 * Day;
}

}  // namespace porthole::apiserver
