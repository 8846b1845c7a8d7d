#include "apiserver/kinds/core/volume_files.h"

#include <array>
#include <set>

#include "apiserver/kinds/certificates/signer_name.h"
#include "apiserver/kinds/checks.h"
#include "apiserver/strategy/object_meta.h"

namespace porthole::apiserver {

using namespace api::core::v1;

void check_mode(const std::optional<std::int32_t>& mode, const FieldPath& path, FieldErrors& errors) {
    if (mode && (*mode < 0 || *mode > 0777)) errors.invalid(path, *mode, "must be a number between 0 and 0777 (octal), both inclusive");
}

void validate_items(const std::vector<KeyToPath>& items, const FieldPath& path, FieldErrors& errors) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        const FieldPath at = path.index(i);
        if (items[i].key.empty()) errors.required(at / "key");
        if (items[i].path.empty())
            errors.required(at / "path");
        else
            check_path_in_volume(items[i].path, at / "path", errors);
        check_mode(items[i].mode, at / "mode", errors);
    }
}

void validate_downward_items(const std::vector<DownwardAPIVolumeFile>& items, const FieldPath& path, FieldErrors& errors) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        const DownwardAPIVolumeFile& item = items[i];
        const FieldPath at = path.index(i);
        if (item.path.empty())
            errors.required(path / "path");
        else
            check_path_in_volume(item.path, path / "path", errors);
        if (item.field_ref && item.resource_field_ref) {
            errors.invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
        } else if (item.field_ref) {
            const std::string& field = item.field_ref->field_path;
            const FieldPath reference = at / "fieldRef";
            const bool subscripted = field.starts_with("metadata.labels['") || field.starts_with("metadata.annotations['");
            if (field.empty())
                errors.required(reference / "fieldPath");
            else if (!subscripted &&
                     !is_one_of(field, {"metadata.name", "metadata.namespace", "metadata.labels", "metadata.annotations", "metadata.uid"}))
                errors.not_supported(reference / "fieldPath", field,
                                     {"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"});
        } else if (item.resource_field_ref) {
            if (item.resource_field_ref->container_name.empty()) errors.required(at / "resourceFieldRef" / "containerName");
            if (item.resource_field_ref->resource.empty()) errors.required(at / "resourceFieldRef" / "resource");
        } else {
            errors.required(at / "fieldRef", "one of fieldRef and resourceFieldRef is required");
        }
        check_mode(item.mode, at / "mode", errors);
    }
}

namespace {

constexpr std::int64_t ShortestToken = 600;

/// The sources of one volume: no two write the same file.
class ProjectionRules {
public:
    ProjectionRules(const FieldPath& path, FieldErrors& errors) : path_(path), errors_(errors) {}

    void check_source(const VolumeProjection& source, const FieldPath& at) {
        int kinds = 0;
        const auto is = [&](const auto& kind) {
            kinds += kind.has_value();
            return kind.has_value();
        };
        if (is(source.secret)) check_keys(source.secret->name, source.secret->items, at / "secret");
        if (is(source.config_map)) check_keys(source.config_map->name, source.config_map->items, at / "configMap");
        if (is(source.downward_api)) {
            validate_downward_items(source.downward_api->items, at / "downwardAPI", errors_);
            for (const DownwardAPIVolumeFile& item : source.downward_api->items) take(item.path, item.path);
        }
        if (is(source.service_account_token)) check_token(*source.service_account_token, at / "serviceAccountToken");
        if (is(source.cluster_trust_bundle)) check_trust_bundle(*source.cluster_trust_bundle, at / "clusterTrustBundle");
        if (is(source.pod_certificate)) check_certificate(*source.pod_certificate, at / "podCertificate");
        if (kinds > 1) errors_.forbidden(at, "may not specify more than 1 volume type per source");
    }

private:
    /// `shown` is the value of the error.
    void take(const std::string& file, const std::string& shown) {
        if (!file.empty() && !files_.insert(file).second) errors_.invalid(path_, shown, "conflicting duplicate paths");
    }

    void check_keys(const std::string& name, const std::vector<KeyToPath>& items, const FieldPath& at) {
        if (name.empty()) errors_.required(at / "name");
        validate_items(items, at / "items", errors_);
        for (const KeyToPath& item : items) take(item.path, name);
    }

    void check_token(const ServiceAccountTokenProjection& token, const FieldPath& at) {
        if (token.expiration_seconds && *token.expiration_seconds < ShortestToken)
            errors_.invalid(at / "expirationSeconds", *token.expiration_seconds, "may not specify a duration less than 10 minutes");
        if (token.expiration_seconds && *token.expiration_seconds > (std::int64_t{1} << 32))
            errors_.invalid(at / "expirationSeconds", *token.expiration_seconds, "may not specify a duration larger than 2^32 seconds");
        if (check_required(token.path, at / "path", errors_)) check_path_in_volume(token.path, at / "path", errors_);
    }

    void check_trust_bundle(const ClusterTrustBundleProjection& bundle, const FieldPath& at) {
        if (bundle.name && bundle.signer_name) {
            errors_.invalid_as_a_whole(at, "only one of name and signerName may be used");
        } else if (bundle.name) {
            check_bundle_name(*bundle.name, at / "name");
            if (bundle.label_selector) errors_.invalid_as_a_whole(at / "labelSelector", "labelSelector must be unset if name is specified");
        } else if (bundle.signer_name) {
            check_signer_name(*bundle.signer_name, at / "signerName", errors_);
            if (bundle.label_selector) validate_label_selector(*bundle.label_selector, at / "labelSelector", errors_);
        } else {
            errors_.required(at, "either name or signerName must be specified");
        }
        if (check_required(bundle.path, at / "path", errors_)) check_path_in_volume(bundle.path, at / "path", errors_);
        take(bundle.path, bundle.path);
    }

    void check_bundle_name(const std::string& name, const FieldPath& at) {
        if (!check_required(name, at, errors_)) return;
        const std::size_t mark = name.rfind(':');
        std::string signer = mark == name.npos ? "" : name.substr(0, mark);
        std::ranges::replace(signer, ':', '/');
        for (const std::string& problem : check_trust_bundle_name(name, signer))
            errors_.invalid(at, name, "not a valid clustertrustbundlename: " + problem);
    }

    void check_certificate(const PodCertificateProjection& certificate, const FieldPath& at) {
        check_signer_name(certificate.signer_name, at / "signerName", errors_);
        check_user_annotations(certificate.user_annotations, at / "userAnnotations", errors_);
        check_choice(certificate.key_type, {"ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA3072", "RSA4096"}, at / "keyType",
                     errors_);
        if (const auto& seconds = certificate.max_expiration_seconds) {
            const std::int32_t longest = longest_pod_certificate_seconds(certificate.signer_name);
            const FieldPath where = at / "maxExpirationSeconds";
            check(*seconds >= ShortestPodCertificateSeconds, *seconds, "if provided, maxExpirationSeconds must be >= 3600", where, errors_);
            check(*seconds <= longest, *seconds, "if provided, maxExpirationSeconds must be <= " + std::to_string(longest), where, errors_);
        }
        bool any = false;
        const auto file = [&](const std::string& text, const char* field) {
            if (text.empty()) return;
            any = true;
            check_path_in_volume(text, at / field, errors_);
            take(text, text);
        };
        file(certificate.credential_bundle_path, "credentialBundlePath");
        file(certificate.key_path, "keyPath");
        file(certificate.certificate_chain_path, "certificateChainPath");
        if (!any) errors_.required(at, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
    }

    FieldPath path_;
    FieldErrors& errors_;
    std::set<std::string> files_;
};

}  // namespace

void validate_projection_sources(const ProjectedVolumeSource& source, const FieldPath& path, FieldErrors& errors) {
    ProjectionRules rules(path, errors);
    for (std::size_t i = 0; i < source.sources.size(); ++i) rules.check_source(source.sources[i], (path / "sources").index(i));
}

}  // namespace porthole::apiserver
