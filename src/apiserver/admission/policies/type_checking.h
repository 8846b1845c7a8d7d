#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "api/admissionregistration_v1.h"
#include "apiserver/expressions/admission_expressions.h"
#include "schema/registry.h"

namespace porthole::apiserver {

/// Checks a ValidatingAdmissionPolicy's expressions against the types of the kinds that it matches. The result does not alter what the
/// policy does; errors are reported in its status. Created on the loop of the registry; check() may run on any thread.
class PolicyTypeCheck {
public:
    using Policy = api::admissionregistration::v1::ValidatingAdmissionPolicy;
    using Warning = api::admissionregistration::v1::ExpressionWarning;

    /// At most that many kinds of one rule are checked, and no further rule once there are so many.
    static constexpr std::size_t MostKinds = 10;
    /// Further errors are left out once there is so much text: it is stored with the policy.
    static constexpr std::size_t MostText = std::size_t{64} << 10;

    PolicyTypeCheck(std::shared_ptr<const Policy> policy, const schema::Registry& registry);
    std::vector<Warning> check() const;

private:
    struct KindType {
        std::string name;  ///< "apps/v1, Kind=Deployment"
        cel::TypeRef type;
    };
    struct Warnings {
        std::vector<Warning> all;
        std::size_t text = 0;
    };
    /// One for each of kinds_, with the policy's variables.
    std::deque<AdmissionCompiler> make_compilers() const;
    void add_warning(const std::deque<AdmissionCompiler>& compilers, const std::string& expression, std::string field,
                     Warnings& warnings) const;
    AdmissionNames names() const { return {.params = params_ != nullptr}; }

    std::shared_ptr<const Policy> policy_;
    cel::ObjectTypes types_;
    std::vector<KindType> kinds_;
    cel::TypeRef params_;  ///< null if the policy has none, or of a kind that is not served
};

}  // namespace porthole::apiserver
