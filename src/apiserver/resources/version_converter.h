#pragma once
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "apiserver/resources/resource.h"
#include "apiserver/validation/api_object.h"
#include "runtime/sync.h"
#include "schema/patch/apply.h"
#include "store/record.h"

namespace porthole::apiserver {

/// A cache of converted records, so that each is converted once; a new entry replaces the least recently used. Also the conversions in
/// progress. Lives on the store's loop.
class ConvertedRecords {
public:
    /// `most_bytes` of objects and their keys.
    explicit ConvertedRecords(std::size_t most_bytes) : most_bytes_(most_bytes) {}

    /// nullptr if there is none.
    store::RecordPtr find(const std::string& key);
    void put(const std::string& key, store::RecordPtr record);
    std::size_t bytes() const { return bytes_; }

private:
    friend class VersionConverter;
    /// A call in progress; other requests for the same wait for it.
    struct Question {
        Event ended;
        Result<void> outcome = Error(Reason::Cancelled, "");  ///< if cancelled, those who wait ask again
        std::map<std::string, store::RecordPtr> records;
    };
    using Entry = std::pair<std::string, store::RecordPtr>;

    std::size_t most_bytes_, bytes_ = 0;
    std::list<Entry> entries_;  // most recently used first
    std::unordered_map<std::string, std::list<Entry>::iterator> index_;
    std::map<std::string, std::shared_ptr<Question>> asked_;
};

/// Converts custom resources to versions other than the stored one, by an ObjectConverter. Records are grouped into few calls, a record
/// that several requests need is converted once, and one that is already in the right version not at all. Lives on the store's loop;
/// collaborators, and the resources of its tasks, outlive it.
class VersionConverter {
public:
    VersionConverter(std::unique_ptr<ObjectConverter> converter, ConvertedRecords& remembered)
        : converter_(std::move(converter)), remembered_(remembered) {}

    /// The records in `resource`'s version, in their order, with that version's defaults and attributes. Unreadable ones are not changed.
    /// Errors: those of ObjectConverter::convert(), for all of them.
    Task<std::vector<store::RecordPtr>> records(const Resource& resource, std::vector<store::RecordPtr> records);
    /// An object of any of the resource's versions in `api_version`.
    Task<schema::Value> object(schema::Value object, std::string api_version);

    /// A version that is served; it outlives this.
    void add(const Resource& resource) { served_.push_back(&resource); }
    /// nullptr if there is none.
    const Resource* find(std::string_view api_version) const;

private:
    struct Wanted {
        std::size_t index;  ///< among the records
        std::string key;    ///< in the cache
    };
    /// Converts some, at most as many as one call may have, and returns them by their keys.
    Task<> ask(const Resource& resource, std::vector<store::RecordPtr> records, std::vector<std::string> keys,
               std::shared_ptr<ConvertedRecords::Question> question);
    Task<> ask_once(const Resource& resource, const std::vector<store::RecordPtr>& records, const std::vector<std::string>& keys,
                    ConvertedRecords::Question& question);

    std::unique_ptr<ObjectConverter> converter_;
    ConvertedRecords& remembered_;
    std::vector<const Resource*> served_;
};

/// One request's objects in other versions of a custom resource, for owners of fields of those versions. Server-side apply does not wait:
/// if it needs an unknown version it ends with an error; the conversion is then requested, and the apply starts again.
class ObjectVersions final : public schema::OtherVersions {
public:
    /// Requires: the resource has a converter.
    explicit ObjectVersions(const Resource& resource) : converter_(*resource.converter) {}
    Result<std::optional<Shown>> show(const schema::Value& object, std::string_view api_version) override;
    bool lacks_some() const { return !lacking_.empty(); }
    /// Requests what show() lacked. Errors: those of ObjectConverter::convert().
    Task<> learn();

private:
    struct Lacking {
        std::string key;
        schema::Value object;
        const Resource* resource;
    };
    struct Known {
        const schema::Kind* kind;
        schema::Value object;
    };
    VersionConverter& converter_;
    std::map<std::string, Known> known_;  // by version and object
    std::vector<Lacking> lacking_;
};

/// The record as `resource` shows it where a webhook converts its versions; the record itself where that is not so.
Task<store::RecordPtr> converted_record(const Resource& resource, store::RecordPtr record);
/// The object as put_of() stores it. Unchanged if no webhook converts it.
Task<ApiObject> converted_for_storage(const Resource& resource, ApiObject object);

}  // namespace porthole::apiserver
