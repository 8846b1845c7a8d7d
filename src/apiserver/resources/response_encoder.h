#pragma once
#include <string>
#include <vector>

#include "apiserver/request/negotiation.h"
#include "apiserver/resources/encode_tree.h"
#include "apiserver/resources/list_body.h"
#include "apiserver/resources/object_codec.h"
#include "apiserver/resources/resource_store.h"
#include "apiserver/resources/sealed_objects.h"
#include "base/time/time.h"
#include "runtime/turns.h"

namespace porthole::apiserver {

/// How much of an object a row of a table carries.
enum class IncludeObject { None, Metadata, Object };
Result<IncludeObject> parse_include_object(std::string_view text);

/// Frames of a watch that are to be sent: text, and between it large objects as they are stored, of which all watchers share one copy.
class WatchFrames {
public:
    std::string text;

    /// Large ones are shared, small ones appended to `text`.
    void add(const store::Bytes& object);
    std::size_t size() const { return size_ + text.size(); }
    /// All of it, in order; nothing is left.
    std::vector<store::Bytes> take();

private:
    std::vector<store::Bytes> pieces_;  ///< before `text`
    std::size_t size_ = 0;              ///< of pieces_
};

/// Converts stored bytes to the form that a client requested. JSON of the stored version passes through unchanged, and watchers in protobuf
/// share what is in `sealed`, if there is any. Used for one answer; `resource` and `sealed` must outlive it. Error: InternalError for bytes
/// that cannot be decoded.
class ResponseEncoder {
public:
    ResponseEncoder(const Resource& resource, OutputForm form, IncludeObject include, Timestamp now, SealedObjects* sealed = nullptr)
        : resource_(resource), form_(std::move(form)), include_(include), now_(now), sealed_(sealed) {}

    const OutputForm& form() const { return form_; }
    /// The time for ages in tables; a watch sets it for every frame.
    void set_now(Timestamp now) { now_ = now; }
    /// The body of an answer that is one object.
    Result<store::Bytes> object(const store::Bytes& stored) const;
    /// The pieces of the body of a list. `work` lets others have their turns between two objects.
    Task<std::vector<store::Bytes>> list(const Page& page, LongWork work = {}) const;

    /// Adds one frame of a watch. `type` is ADDED, MODIFIED or DELETED.
    Result<void> append_event(std::string_view type, const store::Bytes& stored, WatchFrames& out);
    /// A BOOKMARK at `revision`; `initial_events_end` marks the end of the initial events.
    void append_bookmark(store::Revision revision, bool initial_events_end, std::string& out);
    void append_error(const Error& error, std::string& out) const;

private:
    bool passes_through() const {
        return form_.encoding == Encoding::Json && form_.transform == Transform::None && !form_.pretty && resource_.sends_stored_bytes();
    }
    /// Whether metadata alone is sent, cut out of the stored bytes.
    bool cuts_metadata() const {
        const bool partial = form_.transform == Transform::PartialObjectMetadata || form_.transform == Transform::PartialObjectMetadataList;
        return form_.encoding == Encoding::Json && partial && !form_.pretty && resource_.sends_stored_bytes();
    }
    ListBody empty_list(const Page& page) const;
    Result<void> add_item(const store::Bytes& stored, ListBody& list) const;
    Result<schema::Value> transformed(const std::string& stored) const;
    schema::Value table(schema::Array rows, schema::Value list_meta) const;
    schema::Value row(const schema::Value& object) const;
    std::string encoded(const schema::Value& tree) const;
    void append_frame(std::string_view type, const schema::Value& object, std::string& out) const;
    void append_protobuf_frame(std::string_view type, const store::Bytes& object, WatchFrames& out) const;

    const Resource& resource_;
    OutputForm form_;
    IncludeObject include_;
    Timestamp now_;
    SealedObjects* sealed_;
    bool columns_sent_ = false;
};

}  // namespace porthole::apiserver
