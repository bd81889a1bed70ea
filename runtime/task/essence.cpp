#include "runtime/task/essence.hpp"

#include "runtime/task/tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace swage {

namespace {

using tokens = std::vector<token>;

/// A logical line; `depth` counts the blocks that it is in.
struct statement {
  size_t depth = 0;
  tokens parts;

  bool begins_with(std::string_view word) const {
    return !parts.empty() && parts[0].text == word;
  }
};

bool is_name(const token& t) {
  return t.kind == token_kind::identifier;
}

bool opens(const token& t) {
  return is(t, "(") || is(t, "[") || is(t, "{");
}

bool closes(const token& t) {
  return is(t, ")") || is(t, "]") || is(t, "}");
}

/// Whether a block's first word, behind whose header a body may stand.
bool begins_block(const statement& one) {
  constexpr std::array<std::string_view, 12> words = {
    "if",  "elif",   "else",    "for", "while", "with",
    "try", "except", "finally", "def", "class", "async"};
  return std::ranges::find(words, one.parts[0].text) != words.end();
}

std::vector<statement> statements(std::string_view module) {
  std::vector<statement> all;
  std::vector<size_t> blocks = {0};
  size_t width = 0;
  size_t inner = 0, brackets = 0; // A body on its header's line is one deeper.
  bool fresh = true;
  for (const auto& t : python_tokens(module)) {
    if (t.kind == token_kind::indent) {
      width = t.text.size();
      inner = brackets = 0;
      fresh = true;
      continue;
    }
    if (t.kind == token_kind::newline)
      continue;
    if (is(t, ";")) {
      fresh = true;
      continue;
    }
    if (fresh) {
      while (blocks.size() > 1 && blocks.back() > width)
        blocks.pop_back();
      if (width > blocks.back())
        blocks.push_back(width);
      all.push_back({blocks.size() - 1 + inner, {}});
      fresh = false;
    }
    all.back().parts.push_back(t);
    brackets += opens(t) ? 1 : 0;
    brackets -= closes(t) && brackets > 0 ? 1 : 0;
    if (is(t, ":") && brackets == 0 && begins_block(all.back())) {
      ++inner;
      fresh = true;
    }
  }
  return all;
}

/// Whether a number's own sign stands there, not an operator.
bool is_sign(const tokens& parts, size_t i) {
  constexpr std::array<std::string_view, 8> words = {
    "return", "yield", "if", "else", "in", "and", "or", "not"};
  if (!is(parts[i], "-") && !is(parts[i], "+"))
    return false;
  bool number = i + 1 < parts.size() && parts[i + 1].kind == token_kind::number;
  if (!number || i == 0)
    return number;
  const auto& before = parts[i - 1];
  if (is_name(before))
    return std::ranges::find(words, before.text) != words.end();
  return before.kind == token_kind::symbol && !closes(before);
}

/// A string in double quotes, where it is clear.
std::string quoted(std::string_view literal) {
  std::string text{literal};
  auto first = text.find('\'');
  if (first + 1 < text.size() && text.back() == '\''
      && text.find('"') == text.npos)
    text[first] = text.back() = '"';
  return text;
}

constexpr size_t nowhere = std::numeric_limits<size_t>::max();

/// For each token the bracket that it stands in, or the lambda whose parameters
/// it is among.
std::vector<size_t> scopes(const tokens& parts) {
  std::vector<size_t> all, open = {nowhere};
  for (size_t i = 0; i < parts.size(); ++i) {
    bool in_lambda = open.size() > 1 && is(parts[open.back()], "lambda");
    if (open.size() > 1
        && (closes(parts[i]) || (in_lambda && is(parts[i], ":"))))
      open.pop_back();
    all.push_back(open.back());
    if (opens(parts[i]) || is(parts[i], "lambda"))
      open.push_back(i);
  }
  return all;
}

/// The header of a function without annotations.
tokens unannotated(const tokens& parts) {
  tokens out;
  size_t depth = 0;
  bool skips = false, body = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto& t = parts[i];
    if (!body && depth == 1 && is(t, ":"))
      skips = true;
    if (skips && depth == 1 && (is(t, ",") || is(t, "=") || is(t, ")")))
      skips = false;
    if (!body && depth == 0 && is(t, "-"))
      skips = true;
    if (!body && depth == 0 && is(t, ":")) {
      skips = false;
      body = true;
    }
    depth += opens(t) ? 1 : 0;
    depth -= closes(t) && depth > 0 ? 1 : 0;
    if (!skips)
      out.push_back(t);
  }
  return out;
}

/// Whether a statement computes nothing: a docstring, or super().__init__()
/// without arguments.
bool is_idle(const statement& one) {
  const auto& parts = one.parts;
  auto last = parts.size();
  bool calls_super = one.begins_with("super") && last > 3
                     && is(parts[last - 3], "__init__")
                     && is(parts[last - 2], "(") && is(parts[last - 1], ")");
  return calls_super || std::ranges::all_of(parts, [](const token& t) {
           return t.kind == token_kind::string;
         });
}

/// With super() for super(C, self), where C is the class around.
tokens short_super(const tokens& parts, std::string_view around) {
  tokens out;
  for (size_t i = 0; i < parts.size(); ++i) {
    out.push_back(parts[i]);
    if (i > 0 && is(parts[i - 1], "super") && is(parts[i], "(")
        && i + 4 < parts.size() && is(parts[i + 1], around)
        && is(parts[i + 2], ",") && is(parts[i + 3], "self")
        && is(parts[i + 4], ")"))
      i += 3;
  }
  return out;
}

/// The classes and functions, but for those that draw inputs.
std::vector<statement> computing(const std::vector<statement>& all) {
  std::vector<statement> kept;
  bool inside = false;
  std::string_view around;
  for (const auto& one : all) {
    if (one.begins_with("class") && one.parts.size() > 1)
      around = one.parts[1].text;
    if (one.depth == 0) {
      bool draws = one.begins_with("def") && one.parts.size() > 1
                   && (is(one.parts[1], "get_inputs")
                       || is(one.parts[1], "get_init_inputs"));
      inside = !draws
               && (one.begins_with("class") || one.begins_with("def")
                   || one.begins_with("@"));
    }
    if (!inside || is_idle(one))
      continue;
    auto plain = one.begins_with("def") ? unannotated(one.parts) : one.parts;
    kept.push_back({one.depth, short_super(plain, around)});
  }
  // A constructor that does nothing is as good as none.
  for (size_t i = kept.size(); i-- > 0;)
    if (kept[i].begins_with("def") && kept[i].parts.size() > 1
        && is(kept[i].parts[1], "__init__") && is(kept[i].parts.back(), ":")
        && (i + 1 == kept.size() || kept[i + 1].depth <= kept[i].depth))
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
  return kept;
}

/// The names that a module binds: attributes of self with a point before them.
class names {
public:
  void bind(const statement& one) {
    const auto& parts = one.parts;
    if (one.begins_with("import") || one.begins_with("from"))
      return;
    if ((one.begins_with("def") || one.begins_with("class"))
        && parts.size() > 1) {
      bind_definition(one);
    } else {
      auto end = assignment(parts);
      for (size_t i = 0; i < end; ++i)
        bind_target(parts, i);
    }
    for (size_t i = 0; i < parts.size(); ++i)
      bind_inside(parts, i);
  }

  /// What is assigned, or looped over, is called as its source is: a layer as
  /// the class that made it. After `bind` of all.
  void hold(const statement& one) {
    const auto& parts = one.parts;
    size_t end = assignment(parts);
    if (one.begins_with("for"))
      for (end = 1; end < parts.size() && !is(parts[end], "in"); ++end) {}
    if (end == 0)
      return;
    std::set<std::string> taken;
    for (size_t i = end; i < parts.size(); ++i)
      for (const auto& key : {key_of(parts, i), key_of(parts, i) + "()"})
        if (auto found = takes_.find(key); found != takes_.end())
          taken.insert(found->second.begin(), found->second.end());
    for (size_t i = 0; i < end; ++i)
      if (auto key = key_of(parts, i); !taken.empty() && bound_.contains(key))
        takes_[key].insert(taken.begin(), taken.end());
  }

  /// The statement as it is written in an essence.
  std::string written(const statement& one) {
    auto within = scopes(one.parts);
    std::string text;
    for (size_t i = 0; i < one.parts.size(); ++i) {
      bool foreign = is_keyword(one, i, within[i])
                     && !is_own_keyword(one.parts, i, within[i]);
      if (!is_sign(one.parts, i))
        text += ' '
                + (foreign ? std::string{one.parts[i].text}
                           : written(one.parts, i));
    }
    return text;
  }

private:
  std::string written(const tokens& parts, size_t i) {
    const auto& t = parts[i];
    if (t.kind == token_kind::number)
      return "0";
    if (t.kind == token_kind::string)
      return quoted(t.text);
    if (!is_name(t))
      return std::string{t.text};
    auto key = key_of(parts, i);
    if (bound_.contains(key))
      return number(key);
    if (key == "nn")
      return "torch . nn";
    if (key == "F")
      return "torch . nn . functional";
    return std::string{t.text};
  }

  /// Whether it names an argument of a call.
  static bool is_keyword(const statement& one, size_t i, size_t scope) {
    const auto& parts = one.parts;
    bool parameters = one.begins_with("def") && scope == 2;
    return scope != nowhere && is(parts[scope], "(") && !parameters
           && is_name(parts[i]) && (i == scope + 1 || is(parts[i - 1], ","))
           && i + 2 < parts.size() && is(parts[i + 1], "=")
           && !is(parts[i + 2], "=");
  }

  /// Whether a function of the module named the argument, not a library.
  bool is_own_keyword(const tokens& parts, size_t i, size_t scope) const {
    if (scope == 0)
      return false;
    auto found = takes_.find(key_of(parts, scope - 1));
    return found != takes_.end()
           && found->second.contains(std::string{parts[i].text});
  }

  static bool is_attribute(const tokens& parts, size_t i) {
    return i > 0 && is(parts[i - 1], ".");
  }

  static std::string key_of(const tokens& parts, size_t i) {
    std::string name{parts[i].text};
    if (!is_attribute(parts, i))
      return name;
    // Of anything but self they are a library's.
    return i > 1 && is(parts[i - 2], "self") ? "." + name : ".." + name;
  }

  /// Where the "=" of an assignment stands, or 0.
  static size_t assignment(const tokens& parts) {
    constexpr std::string_view operators = "=<>!+-*/%&|^@:";
    size_t depth = 0;
    for (size_t i = 1; i + 1 < parts.size(); ++i) {
      depth += opens(parts[i - 1]) ? 1 : 0;
      depth -= closes(parts[i - 1]) && depth > 0 ? 1 : 0;
      bool alone = is(parts[i], "=") && !is(parts[i + 1], "=")
                   && operators.find(parts[i - 1].text) == operators.npos;
      if (depth == 0 && alone)
        return i;
    }
    return 0;
  }

  void bind_target(const tokens& parts, size_t i) {
    auto key = key_of(parts, i);
    if (is_name(parts[i]) && !key.starts_with("..") && key != "self")
      bound_.insert(key);
  }

  void bind_definition(const statement& one) {
    std::string name{one.parts[1].text};
    auto key = one.depth > 0 ? "." + name : name;
    if (name != "forward" && !name.starts_with("__"))
      bound_.insert(key);
    if (one.begins_with("class"))
      class_ = name;
    if (!one.begins_with("def"))
      return;
    // A class is called as its constructor, what it made as `forward`.
    if (key == ".__init__" || key == ".forward")
      key = class_ + (key == ".forward" ? "()" : "");
    size_t depth = 0;
    for (size_t i = 2; i < one.parts.size(); ++i) {
      const auto& before = one.parts[i - 1];
      depth += opens(before) ? 1 : 0;
      depth -= closes(before) && depth > 0 ? 1 : 0;
      if (is(before, ")") && depth == 0)
        return;
      if (depth == 1 && (opens(before) || is(before, ",") || is(before, "*")))
        bind_parameter(one.parts, i, key);
    }
  }

  void bind_parameter(const tokens& parts, size_t i, const std::string& of) {
    bind_target(parts, i);
    if (is_name(parts[i]))
      takes_[of].insert(std::string{parts[i].text});
  }

  /// Loops, comprehensions, `as` and lambdas.
  void bind_inside(const tokens& parts, size_t i) {
    auto until = [&](std::string_view end) {
      for (++i; i < parts.size() && !is(parts[i], end); ++i)
        bind_target(parts, i);
    };
    if (is(parts[i], "for"))
      until("in");
    else if (is(parts[i], "lambda"))
      until(":");
    else if (is(parts[i], "as") && i + 1 < parts.size())
      bind_target(parts, i + 1);
  }

  std::string number(const std::string& key) {
    auto next = numbers_.size();
    auto which = numbers_.try_emplace(key, next).first->second;
    return fmt::format("${}", which);
  }

  std::set<std::string> bound_;
  /// The names of a function's arguments, by its own key.
  std::map<std::string, std::set<std::string>> takes_;
  std::string class_;
  std::map<std::string, size_t> numbers_;
};

} // namespace

std::string essence(std::string_view module) {
  auto all = statements(module);
  names known;
  for (const auto& one : all)
    known.bind(one);
  for (const auto& one : all)
    known.hold(one);
  std::string text;
  for (const auto& one : computing(all))
    text += fmt::format("{}:{}\n", one.depth, known.written(one));
  return text.empty() ? std::string{module} : text;
}

} // namespace swage
