#include "runtime/config/load_config.hpp"

#include "runtime/config/built.hpp"
#include "runtime/config/knobs.hpp"
#include "runtime/config/node_rules.hpp"
#include "runtime/config/rules.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <fstream>
#include <iterator>
#include <limits>

namespace swage {

namespace {

constexpr size_t max_file_bytes = 1 << 20;

/// Where a message points to: "file:line:column" or "--set key=value".
using origin = std::string;

tl::unexpected<error> wrong(const origin& where, std::string_view what) {
  return fail(ec::invalid_config, fmt::format("{}: {}", where, what));
}

std::string found(const toml::node& node) {
  if (auto* text = node.as_string())
    return fmt::format("the text {}", toml_quote(text->get()));
  if (auto* flag = node.as_boolean())
    return fmt::format("{}", flag->get());
  if (auto* number = node.as_integer())
    return fmt::format("{}", number->get());
  if (auto* number = node.as_floating_point())
    return fmt::format("{}", number->get());
  if (auto* list = node.as_array()) {
    std::string items;
    for (auto& item : *list)
      items += (items.empty() ? "" : ", ") + found(item);
    return list->size() > 8 ? "a list" : fmt::format("the list [{}]", items);
  }
  return node.is_table() ? "a table" : "a date or time";
}

// `store` puts a value of the right type into a field, or returns false.
bool store(const toml::node& node, std::string& field) {
  auto value = node.value_exact<std::string>();
  return value && (field = *value, true);
}

bool store(const toml::node& node, bool& field) {
  auto value = node.value_exact<bool>();
  return value && (field = *value, true);
}

bool store(const toml::node& node, double& field) {
  if (auto whole = node.value_exact<int64_t>())
    return field = static_cast<double>(*whole), true;
  auto value = node.value_exact<double>();
  return value && (field = *value, true);
}

template <std::integral Integer>
bool store(const toml::node& node, Integer& field) {
  auto value = node.value_exact<int64_t>();
  if (!value || !std::in_range<Integer>(*value))
    return false;
  field = static_cast<Integer>(*value);
  return true;
}

template <class T>
bool store(const toml::node& node, std::vector<T>& field) {
  auto* list = node.as_array();
  if (!list)
    return false;
  std::vector<T> values(list->size());
  for (size_t i = 0; i < values.size(); ++i)
    if (!store(*list->get(i), values[i]))
      return false;
  field = std::move(values);
  return true;
}

/// Builds a configuration, one assignment at a time.
struct loader {
  config settings;
  knob_origins origins;
  std::string name;

  origin at(const toml::source_region& region) const {
    return fmt::format("{}:{}:{}", name, region.begin.line,
                       region.begin.column);
  }

  result<void> assign(const knob& row, const toml::node& node,
                      const origin& where) {
    auto field = row.field(settings);
    if (!std::visit([&](auto* value) { return store(node, *value); }, field))
      return wrong(where, fmt::format("{} must be {}, found {}", row.path(),
                                      expectation(row), found(node)));
    if (auto bad = complaint(row, settings))
      return wrong(where, fmt::format("{}: {}", row.path(), *bad));
    origins[row.path()] = where;
    return {};
  }

  result<void> read_table(std::string_view table, const toml::table& content);
  result<void> read(const toml::table& file);
  result<void> read_nodes(const toml::node& list);
  result<node_config> read_node(const toml::table& content);
  result<void> read_node_actors(const toml::node& node, actors_config& counts);
  result<void> override_with(const std::string& assignment);
};

/// What is probably meant by a key that [table] does not have.
std::string nearest_path(std::string_view table, std::string_view key) {
  static constexpr std::string_view node[] = {"node"};
  return table == "cluster" && !nearest(key, node).empty()
           ? "[[cluster.node]]"
           : nearest_knob(table, key);
}

std::string hint(const std::string& path) {
  return path.empty() ? "; `swage train --help-config` lists the known ones"
                      : fmt::format("; the nearest known key is {}", path);
}

result<void> loader::read_table(std::string_view table,
                                const toml::table& content) {
  for (auto&& [key, value] : content) {
    if (table == "cluster" && key == "node") {
      if (auto ok = read_nodes(value); !ok)
        return ok;
      continue;
    }
    auto* row = find_knob(table, key);
    if (!row)
      return wrong(at(key.source()),
                   fmt::format("unknown key {} in [{}]{}", key.str(), table,
                               hint(nearest_path(table, key))));
    if (auto ok = assign(*row, value, at(value.source())); !ok)
      return ok;
  }
  return {};
}

result<void> loader::read(const toml::table& file) {
  for (auto&& [key, value] : file) {
    if (!is_table(key)) {
      auto near = nearest_table(key);
      return value.is_table() || value.is_array_of_tables()
               ? wrong(at(key.source()),
                       fmt::format(
                         "unknown table [{}]{}", key.str(),
                         near.empty() ? "" : "; the nearest is [" + near + "]"))
               : wrong(at(key.source()),
                       fmt::format("unknown key {} outside of any table{}",
                                   key.str(), hint(nearest_knob("", key))));
    }
    auto* content = value.as_table();
    if (!content)
      return wrong(
        at(value.source()),
        fmt::format("{} must be a table, found {}", key.str(), found(value)));
    if (auto ok = read_table(key, *content); !ok)
      return ok;
  }
  return {};
}

result<void> loader::read_nodes(const toml::node& list) {
  auto* rows = list.as_array();
  if (!rows || !rows->is_homogeneous(toml::node_type::table))
    return wrong(at(list.source()),
                 fmt::format("nodes are written as [[cluster.node]], found {}",
                             found(list)));
  for (auto& row : *rows) {
    auto node = read_node(*row.as_table());
    if (!node)
      return tl::unexpected{node.error()};
    if (auto bad = node_complaint(*node, settings.cluster.nodes))
      return wrong(at(row.source()), *bad);
    settings.cluster.nodes.push_back(std::move(*node));
  }
  origins["cluster.node"] = at(list.source());
  return {};
}

result<node_config> loader::read_node(const toml::table& content) {
  static constexpr std::string_view names[] = {"name", "address", "actors"};
  node_config node;
  node.actors = {.rollout = 0, .verifier = 0, .learner = 0};
  for (auto&& [key, value] : content) {
    if (key == "actors") {
      if (auto ok = read_node_actors(value, node.actors); !ok)
        return tl::unexpected{ok.error()};
      continue;
    }
    if (key != "name" && key != "address")
      return wrong(at(key.source()),
                   fmt::format("unknown key {} in [[cluster.node]]{}",
                               key.str(), hint(nearest(key, names))));
    if (!store(value, key == "name" ? node.name : node.address))
      return wrong(at(value.source()),
                   fmt::format("{} of a node must be a text, found {}",
                               key.str(), found(value)));
  }
  return node;
}

result<void> loader::read_node_actors(const toml::node& node,
                                      actors_config& counts) {
  static constexpr std::string_view names[] = {"rollout", "verifier",
                                               "learner"};
  auto* content = node.as_table();
  if (!content)
    return wrong(at(node.source()),
                 fmt::format("actors of a node must be a table such as "
                             "{{rollout = 1}}, found {}",
                             found(node)));
  for (auto&& [key, value] : *content) {
    auto* count = key == "rollout"    ? &counts.rollout
                  : key == "verifier" ? &counts.verifier
                  : key == "learner"  ? &counts.learner
                                      : nullptr;
    if (!count)
      return wrong(at(key.source()),
                   fmt::format("unknown kind of actor {}{}", key.str(),
                               hint(nearest(key, names))));
    if (!store(value, *count) || *count > max_actors)
      return wrong(at(value.source()),
                   fmt::format("{} must be a whole number from 0 to {}, found "
                               "{}",
                               key.str(), max_actors, found(value)));
  }
  return {};
}

/// The right-hand side of an override as TOML: a text needs no quotes, and a
/// list no brackets.
std::string right_hand_side(const knob& row, const std::string& text) {
  config sample;
  auto field = row.field(sample);
  auto starts = [&](char c) { return !text.empty() && text[0] == c; };
  if (std::holds_alternative<std::string*>(field))
    return starts('"') || starts('\'') ? text : toml_quote(text);
  if (starts('['))
    return text;
  if (std::holds_alternative<std::vector<double>*>(field))
    return "[" + text + "]";
  if (!std::holds_alternative<std::vector<std::string>*>(field))
    return text;
  std::string list;
  for (size_t begin = 0; begin <= text.size();) {
    auto end = std::min(text.find(',', begin), text.size());
    list += (list.empty() ? "[" : ", ")
            + toml_quote(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return list + "]";
}

result<void> loader::override_with(const std::string& assignment) {
  auto where = "--set " + assignment;
  auto equals = assignment.find('=');
  auto dot = assignment.find('.');
  if (equals == std::string::npos || dot == std::string::npos || dot > equals)
    return wrong(where, "expected table.key=value");
  auto table = assignment.substr(0, dot);
  auto key = assignment.substr(dot + 1, equals - dot - 1);
  auto* row = find_knob(table, key);
  if (!row)
    return wrong(where, fmt::format("unknown key {} in [{}]{}", key, table,
                                    hint(nearest_knob(table, key))));
  auto value = right_hand_side(*row, assignment.substr(equals + 1));
  try {
    auto parsed = toml::parse("value = " + value);
    if (parsed.size() != 1)
      return wrong(where, "expected one value");
    return assign(*row, *parsed.get("value"), where);
  } catch (const toml::parse_error&) {
    return wrong(where, fmt::format("{} must be {}, found {}", row->path(),
                                    expectation(*row), value));
  }
}

} // namespace

result<config> parse_config(std::string_view text, const std::string& name,
                            std::span<const std::string> overrides,
                            config_check also) {
  loader into{.settings = {}, .origins = {}, .name = name};
  try {
    if (auto ok = into.read(toml::parse(text, name)); !ok)
      return tl::unexpected{ok.error()};
  } catch (const toml::parse_error& e) {
    return wrong(into.at(e.source()), e.description());
  }
  for (auto& assignment : overrides)
    if (auto ok = into.override_with(assignment); !ok)
      return tl::unexpected{ok.error()};
  if (auto ok = settle_nodes(into.settings, into.origins); !ok)
    return tl::unexpected{ok.error()};
  for (config_check check : {config_check{check_rules},
                             config_check{check_built}, also})
    if (check)
      if (auto ok = check(into.settings, into.origins); !ok)
        return tl::unexpected{ok.error()};
  return into.settings;
}

result<config> load_config(const std::filesystem::path& file,
                           std::span<const std::string> overrides,
                           config_check also) {
  std::error_code failed;
  auto type = std::filesystem::status(file, failed).type();
  if (type == std::filesystem::file_type::not_found)
    return fail(ec::not_found,
                fmt::format("{}: no such configuration file", file.string()));
  if (type != std::filesystem::file_type::regular)
    return fail(ec::invalid_config,
                fmt::format("{}: expected a configuration file, found a folder "
                            "or a device",
                            file.string()));
  std::ifstream in{file, std::ios::binary};
  std::string text(max_file_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  if (in.bad() || text.size() > max_file_bytes || (text.empty() && !in.eof()))
    return fail(ec::invalid_config,
                fmt::format("{}: not readable, or larger than a configuration "
                            "file can be (1 MiB)",
                            file.string()));
  return parse_config(text, file.string(), overrides, also);
}

} // namespace swage
