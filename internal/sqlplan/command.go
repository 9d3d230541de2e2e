package sqlplan

import (
	"fmt"
	"strings"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
)

// command reads our own statements, one token ahead.
type command struct {
	lex  lexer
	text string
	tok  token
}

func newCommand(text string) *command {
	c := &command{lex: lexer{text: text}, text: text}
	c.advance()
	return c
}

func (c *command) advance() { c.tok = c.lex.next() }

// isWord reports whether the token is one of the keywords (in upper case).
func (c *command) isWord(keywords ...string) bool {
	if c.tok.kind != tokenWord {
		return false
	}
	for _, k := range keywords {
		if strings.EqualFold(c.tok.text, k) {
			return true
		}
	}
	return false
}

// accept moves over the keyword if it is there.
func (c *command) accept(keyword string) bool {
	if !c.isWord(keyword) {
		return false
	}
	c.advance()
	return true
}

func (c *command) acceptSymbol(s string) bool {
	if c.tok.kind != tokenSymbol || c.tok.text != s {
		return false
	}
	c.advance()
	return true
}

// expect moves over keywords that must be there.
func (c *command) expect(keywords ...string) error {
	for _, k := range keywords {
		if !c.accept(k) {
			return c.wanted(k)
		}
	}
	return nil
}

// wanted is the syntax error at the token.
func (c *command) wanted(what string) error {
	found := fmt.Sprintf("found %.64q", c.tok.text)
	switch c.tok.kind {
	case tokenEnd:
		found = "found the end"
	case tokenBroken:
		found = c.tok.text + " does not end"
	default:
	}
	return WithCode(at(fault.Invalid, c.text, c.tok.offset, "expected %s, %s", what, found), CodeInvalidSyntax)
}

// end checks that nothing follows but one semicolon.
func (c *command) end() error {
	semicolon := c.acceptSymbol(";")
	switch {
	case c.tok.kind == tokenEnd:
		return nil
	case semicolon:
		return WithCode(at(fault.Invalid, c.text, c.tok.offset, "one statement at a time"), CodeInvalidSyntax)
	}
	return c.wanted("the end of the statement")
}

// IsQuery reports whether the text begins as a statement that reads rows does, and not as one about databases and streams. It
// needs no engine.
func IsQuery(text string) bool {
	s, err := parseCommand(text)
	return s == nil && err == nil
}

// parseCommand reads the statement if it is one of ours. It is nil without an error for a query.
func parseCommand(text string) (Statement, error) {
	c := newCommand(text)
	switch {
	case c.isWord("SELECT", "WITH", "FROM", "VALUES", "TABLE", "PIVOT", "UNPIVOT", "SUMMARIZE"),
		c.tok.kind == tokenSymbol && c.tok.text == "(":
		return nil, nil //nolint:nilnil // documented
	case c.accept("SHOW"):
		return c.show()
	case c.accept("DESCRIBE"), c.accept("DESC"):
		return c.describe()
	case c.accept("CREATE"):
		return c.createDatabase()
	case c.accept("ALTER"):
		return c.alter()
	case c.accept("DROP"):
		return c.dropDatabase()
	}
	return nil, c.unknown()
}

func (c *command) unknown() error {
	const answered = "statements are SELECT, SUMMARIZE, DESCRIBE, SHOW and CREATE, ALTER, DROP DATABASE"
	switch c.tok.kind {
	case tokenEnd:
		return WithCode(fault.New(fault.Invalid, "the statement is empty"), CodeInvalidSyntax)
	case tokenWord:
		err := at(fault.Invalid, c.text, c.tok.offset, "%s is not accepted; %s", clip(strings.ToUpper(c.tok.text)), answered)
		return WithCode(err, CodeInvalidSyntax)
	default:
		return c.wanted("a statement")
	}
}

// clip shortens a name for an error text.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func (c *command) show() (Statement, error) {
	switch {
	case c.accept("STREAMS"), c.accept("TABLES"):
		s := &ShowStreams{}
		if c.accept("FROM") || c.accept("IN") {
			name, err := c.name("a database name")
			if err != nil {
				return nil, err
			}
			s.Database = name
		}
		like, has, err := c.like()
		if err != nil {
			return nil, err
		}
		s.Like, s.HasLike = like, has
		return s, c.end()
	case c.accept("FULL"):
		if err := c.expect("DATABASES"); err != nil {
			return nil, err
		}
		return c.showDatabases(true)
	case c.accept("DATABASES"):
		return c.showDatabases(false)
	case c.accept("CREATE"):
		if err := c.expect("DATABASE"); err != nil {
			return nil, err
		}
		name, err := c.name("a database name")
		if err != nil {
			return nil, err
		}
		return &ShowCreateDatabase{Database: name}, c.end()
	}
	return nil, c.wanted("STREAMS, TABLES, DATABASES, FULL DATABASES or CREATE DATABASE")
}

func (c *command) showDatabases(full bool) (Statement, error) {
	like, has, err := c.like()
	if err != nil {
		return nil, err
	}
	return &ShowDatabases{Full: full, Like: like, HasLike: has}, c.end()
}

// like reads [LIKE 'pattern'].
func (c *command) like() (pattern string, has bool, err error) {
	if !c.accept("LIKE") {
		return "", false, nil
	}
	if c.tok.kind != tokenString {
		return "", false, c.wanted("a pattern in single quotes")
	}
	pattern = c.tok.text
	c.advance()
	return pattern, true, nil
}

// describe reads DESCRIBE stream. DESCRIBE SELECT … is a query.
func (c *command) describe() (Statement, error) {
	if c.isWord("SELECT", "WITH", "FROM", "VALUES", "PIVOT", "UNPIVOT") || c.tok.kind == tokenSymbol && c.tok.text == "(" {
		return nil, nil //nolint:nilnil // as parseCommand
	}
	c.accept("STREAM")
	name, err := c.dotted()
	if err != nil {
		return nil, err
	}
	return &Describe{Stream: name, text: c.text}, c.end()
}

// name reads one name.
func (c *command) name(what string) (string, error) {
	if c.tok.kind != tokenWord && c.tok.kind != tokenName {
		return "", c.wanted(what)
	}
	name := c.tok.text
	c.advance()
	return name, nil
}

// dotted reads a stream name of one to three parts.
func (c *command) dotted() (Name, error) {
	const most = 3
	n := Name{Offset: c.tok.offset}
	for {
		part, err := c.name("a stream name")
		if err != nil {
			return Name{}, err
		}
		n.Parts = append(n.Parts, part)
		if !c.acceptSymbol(".") {
			return n, nil
		}
		if len(n.Parts) == most {
			return Name{}, c.wanted("at most three parts of a name")
		}
	}
}

func (c *command) createDatabase() (Statement, error) {
	if err := c.expect("DATABASE"); err != nil {
		return nil, err
	}
	s := &CreateDatabase{Options: map[string]string{}}
	if c.accept("IF") {
		if err := c.expect("NOT", "EXISTS"); err != nil {
			return nil, err
		}
		s.IfNotExists = true
	}
	name, err := c.newName()
	if err != nil {
		return nil, err
	}
	s.Database = name
	if c.accept("WITH") {
		if s.Options, err = c.with(); err != nil {
			return nil, err
		}
	}
	return s, c.end()
}

// newName reads the name of a database to be made.
func (c *command) newName() (string, error) {
	offset := c.tok.offset
	name, err := c.name("a database name")
	if err != nil {
		return "", err
	}
	if err := signal.CheckName("database", name); err != nil {
		return "", WithCode(at(fault.Invalid, c.text, offset, "%s", fault.Message(err)), CodeInvalidArguments)
	}
	return name, nil
}

// with reads (key = value, …) of CREATE DATABASE: keys bare or quoted, any case.
func (c *command) with() (map[string]string, error) {
	if !c.acceptSymbol("(") {
		return nil, c.wanted(`"("`)
	}
	options := map[string]string{}
	for {
		offset := c.tok.offset
		key, err := c.optionKey()
		if err != nil {
			return nil, err
		}
		value, err := c.assigned("database", key, offset)
		if err != nil {
			return nil, err
		}
		if _, twice := options[key]; twice {
			return nil, c.badOption(offset, fault.New(fault.Invalid, "option %q is given twice", key))
		}
		options[key] = value
		if c.acceptSymbol(")") {
			return options, nil
		}
		if !c.acceptSymbol(",") {
			return nil, c.wanted(`"," or ")"`)
		}
	}
}

// optionKey reads a key that may be quoted or bare, with dots.
func (c *command) optionKey() (string, error) {
	if c.tok.kind == tokenString || c.tok.kind == tokenName {
		key := c.tok.text
		c.advance()
		return strings.ToLower(key), nil
	}
	var parts []string
	for {
		part, err := c.name("an option")
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
		if !c.acceptSymbol(".") {
			return strings.ToLower(strings.Join(parts, ".")), nil
		}
	}
}

// assigned reads = value and returns the canonical value of the option. NULL is the empty text.
func (c *command) assigned(what, key string, offset int) (string, error) {
	if !knownOption(what, key) {
		return "", c.badOption(offset, unknownOption(what, key))
	}
	if !c.acceptSymbol("=") {
		return "", c.wanted(`"="`)
	}
	value := ""
	if c.tok.kind == tokenSymbol && (c.tok.text == "-" || c.tok.text == "+") {
		value = c.tok.text
		c.advance()
	}
	switch {
	case value == "" && c.isWord("NULL"):
	case c.tok.kind == tokenNumber, value == "" && c.tok.kind == tokenString:
		value += c.tok.text
	default:
		return "", c.wanted("a value")
	}
	c.advance()
	canonical, err := checkOption(what, key, value)
	if err != nil {
		return "", c.badOption(offset, err)
	}
	return canonical, nil
}

func (c *command) badOption(offset int, err error) error {
	return WithCode(at(fault.Invalid, c.text, offset, "%s", fault.Message(err)), CodeInvalidArguments)
}

func (c *command) alter() (Statement, error) {
	switch {
	case c.accept("DATABASE"):
		name, err := c.name("a database name")
		if err != nil {
			return nil, err
		}
		options, err := c.changes("database")
		if err != nil {
			return nil, err
		}
		return &AlterDatabase{Database: name, Options: options}, c.end()
	case c.accept("STREAM"), c.accept("TABLE"):
		name, err := c.dotted()
		if err != nil {
			return nil, err
		}
		options, err := c.changes("stream")
		if err != nil {
			return nil, err
		}
		return &AlterStream{Stream: name, Options: options, text: c.text}, c.end()
	}
	return nil, c.wanted("DATABASE or STREAM")
}

// changes reads SET 'key' = value, … or UNSET 'key', …: keys are string literals.
func (c *command) changes(what string) (map[string]*string, error) {
	set := c.accept("SET")
	if !set {
		if err := c.expect("UNSET"); err != nil {
			return nil, c.wanted("SET or UNSET")
		}
	}
	options := map[string]*string{}
	for {
		offset := c.tok.offset
		if c.tok.kind != tokenString {
			return nil, c.wanted("an option in single quotes")
		}
		key := strings.ToLower(c.tok.text)
		c.advance()
		if _, twice := options[key]; twice {
			return nil, c.badOption(offset, fault.New(fault.Invalid, "option %q is given twice", key))
		}
		switch {
		case set:
			value, err := c.assigned(what, key, offset)
			if err != nil {
				return nil, err
			}
			options[key] = &value
		case !knownOption(what, key):
			return nil, c.badOption(offset, unknownOption(what, key))
		default:
			options[key] = nil
		}
		if !c.acceptSymbol(",") {
			return options, nil
		}
	}
}

func (c *command) dropDatabase() (Statement, error) {
	if err := c.expect("DATABASE"); err != nil {
		return nil, err
	}
	s := &DropDatabase{}
	if c.accept("IF") {
		if err := c.expect("EXISTS"); err != nil {
			return nil, err
		}
		s.IfExists = true
	}
	name, err := c.name("a database name")
	if err != nil {
		return nil, err
	}
	s.Database = name
	return s, c.end()
}

// MatchLike reports whether name matches a pattern of LIKE: % is any text, _ any character; case counts.
func MatchLike(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(n) {
		switch {
		case i < len(p) && p[i] == '%':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '_' || p[i] == n[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '%' {
		i++
	}
	return i == len(p)
}
