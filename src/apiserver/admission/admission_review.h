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
    const schema::Kind& resource;       ///< in the version in which the webhook wants to see the request
    const ApiObject* object = nullptr;  ///< in that version; null where there is none
    const ApiObject* old_object = nullptr;
};

/// The request of a review without its identity and its objects: also what expressions see as `request`. `resource` is the kind in the
/// version in which the request is looked at.
schema::Value admission_request(const schema::Kind& resource, const AdmissionAttributes& attributes);

/// As JSON.
std::string review_json(const AdmissionReview& review, const AdmissionAttributes& attributes);

/// What a webhook said.
struct AdmissionAnswer {
    bool allowed = false;
    Error denial;                  ///< what the client is told, where it is not allowed
    schema::Value patch;           ///< operations of a JSON patch; null for none
    std::string other_patch_type;  ///< a patchType other than JSONPatch
    std::vector<std::string> warnings;
    std::map<std::string, std::string> audit_annotations;
};

/// What an answer may hold, and how an answer is read: as the review asks for. `webhook` is its name, for the words of a denial. Error:
/// InternalError for a body that is not an answer to the review.
inline constexpr std::size_t MostReviewAnswerBytes = 3 << 20;  ///< room for a patch of the largest object in base64
inline constexpr std::size_t MostAuditAnnotations = 64;        ///< of one answer; further ones are left out
inline constexpr std::size_t LongestAuditAnnotation = 10 << 10;
Result<AdmissionAnswer> parse_admission_answer(std::string_view body, std::string_view version, std::string_view uid, bool mutating,
                                               const std::string& webhook);

}  // namespace porthole::apiserver
