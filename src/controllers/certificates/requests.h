#pragma once
#include <string_view>

#include "api/certificates_v1.h"
#include "net/tls/x509.h"

namespace porthole::controllers {

using SigningRequest = api::certificates::v1::CertificateSigningRequest;

inline constexpr const char* KubeletClientSigner = "kubernetes.io/kube-apiserver-client-kubelet";
inline constexpr const char* KubeletServingSigner = "kubernetes.io/kubelet-serving";
inline constexpr const char* ApiClientSigner = "kubernetes.io/kube-apiserver-client";
inline constexpr const char* LegacySigner = "kubernetes.io/legacy-unknown";

/// Not decided on yet, and without a certificate.
bool is_open(const SigningRequest& request);
/// A condition of type Approved.
api::certificates::v1::CertificateSigningRequestCondition approval(std::string reason, std::string message, Timestamp now);

bool has_condition(const SigningRequest& request, std::string_view type);

/// Why this may not be the client certificate of a node; "" if it may.
std::string refuse_kubelet_client(const SigningRequest& request, const net::CertificateSubject& subject);
/// Why this may not be a certificate of a kubelet's server; "" if it may.
std::string refuse_kubelet_serving(const SigningRequest& request, const net::CertificateSubject& subject);
/// How the request violates its signer's rules; "" if it does not, or if the signer is unknown.
std::string refuse_by_signer(const SigningRequest& request, const net::CertificateSubject& subject);

}  // namespace porthole::controllers
