#pragma once
#include <map>
#include <string>
#include <string_view>

#include "apiserver/validation/field_errors.h"
#include "apiserver/validation/names.h"

/// Rules about the signers of certificates, which kinds of several groups name.
namespace porthole::apiserver {

/// "example.com/signer-name", required.
void check_signer_name(const std::string& name, const FieldPath& path, FieldErrors& errors);

/// Whether the name is in the domain kubernetes.io.
bool is_kubernetes_signer(std::string_view name);

/// The name of a ClusterTrustBundle; `signer` "" for one that belongs to none.
names::Problems check_trust_bundle_name(std::string_view name, const std::string& signer);

/// What the author of a pod tells the signer: keys with a domain.
void check_user_annotations(const std::map<std::string, std::string>& annotations, const FieldPath& path, FieldErrors& errors);

/// The longest life of a certificate that a pod may ask the signer for.
std::int32_t longest_pod_certificate_seconds(std::string_view signer);
inline constexpr std::int32_t ShortestPodCertificateSeconds = 3600;

}  // namespace porthole::apiserver
