#pragma once
#include <string>

#include "base/result.h"

namespace porthole::provision {

/// The administrator's credentials, as PEM texts.
struct AdminCredentials {
    std::string ca_pem, certificate_pem, key_pem;
};

/// From the kubeconfig that a server's machine has printed. Only the texts in it count: a machine must not choose which of our files are
/// read or which of our programs are started, as other fields of a kubeconfig do. Errors: Io, BadRequest.
Result<AdminCredentials> parse_credentials(const std::string& kubeconfig);

}  // namespace porthole::provision
