#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission/admission.h"

namespace porthole::apiserver {

/// One question to a webhook: an AdmissionReview of `version`, "v1" or "v1beta1".
struct AdmissionReview {
    std::string version;
    std::string uid;                    ///< of the question; an answer of v1 repeats it
    const schema::Kind& resource;       ///< in the version that the webhook selects
    const ApiObject* object = nullptr;  ///< in that version; null if there is none
    const ApiObject* old_object = nullptr;
};

/// The request of a review without its uid and its objects: also the variable `request` of expressions. `resource` is the kind in the
/// requested version.
schema::Value admission_request(const schema::Kind& resource, const AdmissionAttributes& attributes);

/// As JSON.
std::string review_json(const AdmissionReview& review, const AdmissionAttributes& attributes);

/// A webhook's answer.
struct AdmissionAnswer {
    bool allowed = false;
    Error denial;                  ///< the error for the client, if the request is not allowed
    schema::Value patch;           ///< operations of a JSON patch; null for none
    std::string other_patch_type;  ///< a patchType other than JSONPatch
    std::vector<std::string> warnings;
    std::map<std::string, std::string> audit_annotations;
};

/// Limits and reader of an answer to the review. `webhook` is the webhook's name, for the message of a denial. Error: InternalError for a
/// body that is not an answer to the review.
inline constexpr std::size_t MostReviewAnswerBytes = 3 << 20;  ///< room for a patch of the largest object in base64
inline constexpr std::size_t MostAuditAnnotations = 64;        ///< of one answer; further ones are left out
inline constexpr std::size_t LongestAuditAnnotation = 10 << 10;
Result<AdmissionAnswer> parse_admission_answer(std::string_view body, std::string_view version, std::string_view uid, bool mutating,
                                               const std::string& webhook);

}  // namespace porthole::apiserver
