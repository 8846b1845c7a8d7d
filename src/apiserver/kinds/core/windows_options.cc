#include "apiserver/kinds/core/windows_options.h"

#include "apiserver/validation/names.h"
#include "windows/accounts.h"

namespace porthole::apiserver {
namespace {

constexpr std::size_t LargestCredentialSpec = 64 << 10;

}  // namespace

void validate_windows_options(const api::core::v1::WindowsSecurityContextOptions& options, const FieldPath& path, FieldErrors& errors) {
    if (options.gmsa_credential_spec_name)
        invalid_all(errors, path / "gmsaCredentialSpecName", *options.gmsa_credential_spec_name,
                    names::check_dns1123_subdomain(*options.gmsa_credential_spec_name));
    if (options.gmsa_credential_spec) {
        const std::string& text = *options.gmsa_credential_spec;
        if (text.empty()) errors.invalid(path / "gmsaCredentialSpec", text, "gmsaCredentialSpec cannot be an empty string");
        if (text.size() > LargestCredentialSpec)
            errors.invalid(path / "gmsaCredentialSpec", text, "gmsaCredentialSpec size must be under 64 KiB");
    }
    if (options.run_as_user_name)
        for (const std::string_view problem : windows::account_problems(*options.run_as_user_name))
            errors.invalid(path / "runAsUserName", *options.run_as_user_name, problem);
}

}  // namespace porthole::apiserver
