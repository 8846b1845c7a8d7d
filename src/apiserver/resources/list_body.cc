#include "apiserver/resources/list_body.h"

#include "api/registry.h"
#include "apiserver/resources/encode_tree.h"
#include "apiserver/resources/object_codec.h"
#include "schema/json/json.h"
#include "schema/protobuf/protobuf.h"

namespace porthole::apiserver {
namespace {

constexpr std::size_t PieceSize = 64 << 10;
constexpr std::uint32_t ItemsField = 2;  ///< every list has its items in field 2

const store::Bytes& comma() {
    static const store::Bytes bytes = bytes_of(",");
    return bytes;
}

}  // namespace

ListBody::ListBody(OutputForm form, schema::Value list, std::string_view items, const schema::Kind* item)
    : form_(std::move(form)), list_(std::move(list)), items_(items), item_(item) {
    if (form_.encoding == Encoding::Protobuf) {
        kind_ = item_ ? api::registry().find_kind(list_.string_at({"apiVersion"}), list_.string_at({"kind"})) : nullptr;
        if (!kind_) form_.encoding = Encoding::Json;
    }
    if (kind_) {
        schema::Instance empty(*kind_->type);
        CHECK(schema::from_value(*kind_->type, empty.get(), list_));
        text_ = schema::encode_protobuf(*kind_->type, empty.get());
    } else if (is_compact()) {
        list_[items_] = schema::Array();
        text_ = schema::to_json(list_);
        text_.resize(text_.size() - std::string_view("]}").size());
    }
}

Result<void> ListBody::add(schema::Value item) {
    if (is_compact())
        return add_json_by([&](std::string& text) -> Result<void> {
            schema::append_json(item, text);
            return {};
        });
    if (!kind_) {
        array_.push_back(std::move(item));
        return {};
    }
    schema::Instance instance(*item_->type);
    TRY_VOID(schema::from_value(*item_->type, instance.get(), item));
    const std::string bytes = schema::encode_protobuf(*item_->type, instance.get());
    schema::append_field_head(ItemsField, bytes.size(), text_);
    text_ += bytes;
    cut();
    return {};
}

void ListBody::add_json(store::Bytes item) {
    if (!text_.empty()) pieces_.push_back(bytes_of(std::exchange(text_, {})));
    if (!std::exchange(empty_, false)) pieces_.push_back(comma());
    pieces_.push_back(std::move(item));
}

std::vector<store::Bytes> ListBody::finish() {
    if (kind_) {
        std::size_t size = text_.size();
        for (const store::Bytes& piece : pieces_) size += piece->size();
        pieces_.insert(pieces_.begin(), bytes_of(schema::envelope_head(kind_->api_version(), kind_->kind, size)));
    } else if (is_compact()) {
        text_ += "]}\n";
    } else {
        list_[items_] = std::move(array_);
        text_ = encode_tree(list_, form_);
    }
    pieces_.push_back(bytes_of(std::move(text_)));
    return std::move(pieces_);
}

void ListBody::separate() {
    if (!std::exchange(empty_, false)) text_ += ',';
}

void ListBody::cut() {
    if (text_.size() >= PieceSize) pieces_.push_back(bytes_of(std::exchange(text_, {})));
}

}  // namespace porthole::apiserver
