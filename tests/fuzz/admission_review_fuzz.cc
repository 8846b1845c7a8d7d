// Answers of admission webhooks. Nothing that does not say so allows a request, and what a patch makes of an object is an object of its
// kind.
#include <cstdint>
#include <cstdlib>

#include "api/core_v1.h"
#include "apiserver/admission/admission_review.h"
#include "apiserver/validation/api_object.h"
#include "schema/fields/fields.h"
#include "schema/json/json.h"
#include "schema/patch/patch.h"

using namespace porthole;
using namespace porthole::apiserver;

namespace {

void patch_pod(const schema::Value& patch) {
    const schema::Kind& kind = api::core::v1::Pod::kind();
    static const auto pod = schema::parse_json(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"a":"b"}},)"
                                               R"("spec":{"containers":[{"name":"c","image":"i"}]}})");
    auto patched = schema::apply_json_patch(*pod, patch);
    if (!patched) return;
    const auto conformed = schema::conform_object(kind, std::move(*patched), {}, schema::FieldValidation::Ignore);
    if (conformed) static_cast<void>(ApiObject(kind, conformed->value).view<api::core::v1::Pod>());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    for (const char* version : {"v1", "v1beta1"}) {
        for (const bool mutating : {false, true}) {
            const auto answer = parse_admission_answer(text, version, "1", mutating, "a.example.com");
            if (!answer) continue;
            if (answer->allowed && text.find("true") == std::string_view::npos) std::abort();
            if (!answer->allowed && (http_code(answer->denial.reason) < 400 || answer->denial.message.empty())) std::abort();
            if (!mutating && !answer->patch.is_null()) std::abort();
            if (answer->audit_annotations.size() > MostAuditAnnotations) std::abort();
            if (!answer->patch.is_null()) patch_pod(answer->patch);
        }
    }
    return 0;
}
