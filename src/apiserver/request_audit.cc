#include "apiserver/request_audit.h"

#include "schema/json/json.h"
#include "schema/protobuf/protobuf.h"
#include "schema/yaml/yaml.h"

namespace porthole::apiserver {
namespace {

using schema::Value;

/// What was sent or answered; null where it is no object.
Value tree_of(std::string_view content_type, const std::string& body, const schema::Registry& registry) {
    const std::string type = parse_media_type(content_type).type;
    Result<Value> tree = Value();
    if (schema::has_envelope(body))
        tree = schema::decode_enveloped(registry, body);
    else if (type.ends_with("yaml"))
        tree = schema::parse_yaml(body);
    else if (type.empty() || type.ends_with("json"))
        tree = schema::parse_json(body);
    return tree ? *std::move(tree) : Value();
}

std::string text_of(const std::vector<net::Bytes>& pieces) {
    std::string text;
    for (const net::Bytes& piece : pieces) text += *piece;
    return text;
}

/// Where nothing was answered, since the client had left.
const Value& closed_early() {
    static const Value Status = Value::object({{"status", "Success"}, {"message", "Connection closed early"}});
    return Status;
}

}  // namespace

/// Passes everything on.
class RequestAudit::Observer final : public net::HttpResponder {
public:
    Observer(RequestAudit& audit, net::HttpResponder& to) : audit_(audit), to_(to) {}

    Task<std::string> read_body() override { return to_.read_body(); }
    bool has_room() const override { return to_.has_room(); }
    Task<> room() override { return to_.room(); }
    Task<> respond(int code, net::Headers headers, std::vector<net::Bytes> body) override {
        audit_.response_started(code);
        return to_.respond(code, std::move(headers), std::move(body));
    }
    Task<> start(int code, net::Headers headers) override {
        audit_.response_started(code);
        return to_.start(code, std::move(headers));
    }
    Task<> write(net::Bytes chunk) override { return to_.write(std::move(chunk)); }
    Task<> finish(net::Headers trailers) override { return to_.finish(std::move(trailers)); }
    Task<std::unique_ptr<net::ByteStream>> upgrade(net::Headers headers) override {
        audit_.response_started(101);
        return to_.upgrade(std::move(headers));
    }
    bool started() const override { return to_.started(); }

private:
    RequestAudit& audit_;
    net::HttpResponder& to_;
};

RequestAudit::RequestAudit(Seams seams, SystemTime received) : seams_(seams), received_(received) {}
RequestAudit::~RequestAudit() = default;

net::HttpResponder& RequestAudit::observe(net::HttpResponder& responder) {
    observer_ = std::make_unique<Observer>(*this, responder);
    return *observer_;
}

void RequestAudit::authenticated(const RequestContext& context) {
    context_ = &context;
    decision_ = seams_.auditor.decide(&context.user, context.info, context.by_component);
    trail_.level = decision_.level;
    if (decision_.wants(AuditStage::RequestReceived)) record(context, AuditStage::RequestReceived, decision_.level, 0, nullptr);
}

void RequestAudit::response_started(int code) {
    const Value* status = trail_.status.is_null() ? nullptr : &trail_.status;
    if (decision_.wants(AuditStage::ResponseStarted)) record(*context_, AuditStage::ResponseStarted, decision_.level, code, status);
}

void RequestAudit::refused_unauthenticated(const RequestContext& context) {
    AuditDecision decision = seams_.auditor.decide(nullptr, context.info, context.by_component);
    if (decision.level == AuditLevel::None) decision.level = seams_.auditor.refusals();
    if (!decision.wants(AuditStage::ResponseStarted)) return;
    const Value status = Value::object({{"message", attempted_authentication(context.request)}});
    record(context, AuditStage::ResponseStarted, decision.level, context.code, &status);
}

void RequestAudit::answered(const RequestContext& context) {
    if (!context_) return refused_unauthenticated(context);
    const bool refused = context.code == 401 || context.code == 403;
    AuditDecision decision = decision_;
    if (decision.level == AuditLevel::None && refused) decision.level = seams_.auditor.refusals();
    if (!decision.wants(AuditStage::ResponseComplete)) return;
    if (context.code == 0) {
        if (context.info.long_running()) response_started(200);
        return record(context, AuditStage::ResponseComplete, decision.level, 200, &closed_early());
    }
    record(context, AuditStage::ResponseComplete, decision.level, context.code, trail_.status.is_null() ? nullptr : &trail_.status);
}

void RequestAudit::record(const RequestContext& context, AuditStage stage, AuditLevel level, int code, const Value* status) {
    AuditEvent event{.level = level,
                     .stage = stage,
                     .audit_id = context.audit_id,
                     .request = context.request,
                     .info = context.info,
                     .object = &trail_.object,
                     .code = code,
                     .status = status,
                     .received = received_,
                     .stage_time = stage == AuditStage::RequestReceived ? received_ : seams_.clock.wall_now(),
                     .annotations = &context.audit_annotations};
    // Who did it comes first; whom they acted as says why they could.
    if (!context.user.name.empty()) event.user = context.impersonator ? &*context.impersonator : &context.user;
    if (context.impersonator) event.impersonated = &context.user;

    Value request, response;
    if (level >= AuditLevel::Request && !context.request.body.empty())
        request = tree_of(context.request.headers.get("content-type"), context.request.body, seams_.registry);
    if (level >= AuditLevel::RequestResponse && !trail_.response.empty())
        response = tree_of(trail_.response_type, text_of(trail_.response), seams_.registry);
    if (decision_.omit_managed_fields) {
        remove_managed_fields(request);
        remove_managed_fields(response);
    }
    if (!request.is_null()) event.request_object = &request;
    if (!response.is_null()) event.response_object = &response;
    seams_.auditor.record(to_line(event));
}

}  // namespace porthole::apiserver
