#include "apiserver/encryption/kms_messages.h"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace porthole::apiserver::kms {
namespace {

constexpr std::size_t LongestKeyId = 1024, LongestSource = 1024, LargestAnnotations = 32 * 1024;

Error malformed(const char* what) { return Error(Reason::InternalError, std::string("proto: cannot parse ") + what); }

/// Calls `read(field, reader)` for every field; the reader's position is on its value, which `read` must take or skip.
template <class Read>
Result<void> read_fields(std::string_view bytes, const char* what, Read read) {
    try {
        protozero::pbf_reader reader(bytes.data(), bytes.size());
        while (reader.next()) read(reader);
        return {};
    } catch (const protozero::exception&) {
        return malformed(what);
    }
}

/// A length-delimited field; one of another type makes the message malformed.
std::string bytes_of_field(protozero::pbf_reader& reader) {
    if (reader.wire_type() != protozero::pbf_wire_type::length_delimited) throw protozero::unknown_pbf_wire_type_exception();
    const auto view = reader.get_view();
    return {view.data(), view.size()};
}

void read_annotation(protozero::pbf_reader& reader, Annotations& annotations) {
    const std::string bytes = bytes_of_field(reader);
    protozero::pbf_reader entry(bytes.data(), bytes.size());
    std::string key, value;
    while (entry.next()) {
        if (entry.tag() == 1)
            key = bytes_of_field(entry);
        else if (entry.tag() == 2)
            value = bytes_of_field(entry);
        else
            entry.skip();
    }
    annotations[key] = value;
}

void write_annotations(protozero::pbf_writer& writer, protozero::pbf_tag_type tag, const Annotations& annotations) {
    for (const auto& [key, value] : annotations) {
        std::string bytes;
        protozero::pbf_writer entry(bytes);
        entry.add_string(1, key);
        entry.add_bytes(2, value);
        writer.add_message(tag, bytes);
    }
}

void add_unless_empty(protozero::pbf_writer& writer, protozero::pbf_tag_type tag, std::string_view bytes) {
    if (!bytes.empty()) writer.add_bytes(tag, bytes.data(), bytes.size());
}

}  // namespace

Result<Status> decode_status(std::string_view bytes) {
    Status status;
    TRY_VOID(read_fields(bytes, "StatusResponse", [&](protozero::pbf_reader& reader) {
        if (reader.tag() == 1)
            status.version = bytes_of_field(reader);
        else if (reader.tag() == 2)
            status.healthz = bytes_of_field(reader);
        else if (reader.tag() == 3)
            status.key_id = bytes_of_field(reader);
        else
            reader.skip();
    }));
    return status;
}

std::string encode_encrypt_request(std::string_view plaintext, std::string_view uid) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    add_unless_empty(writer, 1, plaintext);
    add_unless_empty(writer, 2, uid);
    return bytes;
}

Result<Encrypted> decode_encrypt_response(std::string_view bytes) {
    Encrypted encrypted;
    TRY_VOID(read_fields(bytes, "EncryptResponse", [&](protozero::pbf_reader& reader) {
        if (reader.tag() == 1)
            encrypted.ciphertext = bytes_of_field(reader);
        else if (reader.tag() == 2)
            encrypted.key_id = bytes_of_field(reader);
        else if (reader.tag() == 3)
            read_annotation(reader, encrypted.annotations);
        else
            reader.skip();
    }));
    return encrypted;
}

std::string encode_decrypt_request(const Encrypted& encrypted, std::string_view uid) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    add_unless_empty(writer, 1, encrypted.ciphertext);
    add_unless_empty(writer, 2, uid);
    add_unless_empty(writer, 3, encrypted.key_id);
    write_annotations(writer, 4, encrypted.annotations);
    return bytes;
}

Result<std::string> decode_decrypt_response(std::string_view bytes) {
    std::string plaintext;
    TRY_VOID(read_fields(bytes, "DecryptResponse", [&](protozero::pbf_reader& reader) {
        if (reader.tag() == 1)
            plaintext = bytes_of_field(reader);
        else
            reader.skip();
    }));
    return plaintext;
}

std::string encode_object(const EncryptedObject& object) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    add_unless_empty(writer, 1, object.data);
    add_unless_empty(writer, 2, object.source.key_id);
    add_unless_empty(writer, 3, object.source.ciphertext);
    write_annotations(writer, 4, object.source.annotations);
    if (object.source_type != EncryptedObject::Source::AesGcmKey) writer.add_enum(5, static_cast<std::int32_t>(object.source_type));
    return bytes;
}

Result<void> check_limits(const Encrypted& encrypted) {
    const auto refused = [](const std::string& why) { return Error(Reason::InternalError, why); };
    if (encrypted.ciphertext.empty()) return refused("failed to validate encrypted DEK source: encrypted DEK source is empty");
    if (encrypted.ciphertext.size() > LongestSource)
        return refused("failed to validate encrypted DEK source: encrypted DEK source is " + std::to_string(encrypted.ciphertext.size()) +
                       " bytes, which exceeds the max size of " + std::to_string(LongestSource));
    if (encrypted.key_id.empty()) return refused("failed to validate key id: keyID is empty");
    if (encrypted.key_id.size() > LongestKeyId)
        return refused("failed to validate key id: keyID is " + std::to_string(encrypted.key_id.size()) +
                       " bytes, which exceeds the max size of " + std::to_string(LongestKeyId));
    std::size_t size = 0;
    for (const auto& [key, value] : encrypted.annotations) size += key.size() + value.size();
    if (size > LargestAnnotations)
        return refused("failed to validate annotations: total size of annotations is " + std::to_string(size) +
                       ", which exceeds the max size of " + std::to_string(LargestAnnotations));
    return {};
}

Result<EncryptedObject> decode_object(std::string_view bytes) {
    EncryptedObject object;
    std::int32_t type = 0;
    TRY_VOID(read_fields(bytes, "EncryptedObject", [&](protozero::pbf_reader& reader) {
        if (reader.tag() == 1)
            object.data = bytes_of_field(reader);
        else if (reader.tag() == 2)
            object.source.key_id = bytes_of_field(reader);
        else if (reader.tag() == 3)
            object.source.ciphertext = bytes_of_field(reader);
        else if (reader.tag() == 4)
            read_annotation(reader, object.source.annotations);
        else if (reader.tag() == 5 && reader.wire_type() == protozero::pbf_wire_type::varint)
            type = reader.get_enum();
        else
            reader.skip();
    }));
    if (type != 0 && type != 1) return Error(Reason::InternalError, "unknown encryptedDEKSourceType: " + std::to_string(type));
    object.source_type = static_cast<EncryptedObject::Source>(type);
    if (object.data.empty()) return Error(Reason::InternalError, "encrypted data is empty");
    TRY_VOID(check_limits(object.source));
    return object;
}

}  // namespace porthole::apiserver::kms
