// SPDX-License-Identifier: Apache-2.0

// Command gomutants lists the mutants of Go files: one changed operator, constant or condition, or one thing left out,
// each. It changes nothing; every mutant is one JSON object on a line of standard output.
//
//	gomutants <NAMES    # one file on a line
//
// It works on the syntax alone. A mutant that does not compile (`a - b` of two strings) is found by compiling it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
)

// Mutant is one edit: the bytes from Start to End of File are replaced by Text.
type Mutant struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"` // in bytes, from 1
	Operator string `json:"operator"`
	Start    int    `json:"start"`
	End      int    `json:"end"`
	Text     string `json:"text"`
}

// What each operator is replaced by: the boundary and the opposite of a comparison, the inverse of an operation.
var binary = map[token.Token][]token.Token{
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.AND: {token.OR}, token.OR: {token.AND}, token.XOR: {token.OR}, token.AND_NOT: {token.AND},
	token.SHL: {token.SHR}, token.SHR: {token.SHL},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
}

var assignment = map[token.Token]token.Token{
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.MUL_ASSIGN: token.QUO_ASSIGN,
	token.QUO_ASSIGN: token.MUL_ASSIGN, token.REM_ASSIGN: token.MUL_ASSIGN, token.AND_ASSIGN: token.OR_ASSIGN,
	token.OR_ASSIGN: token.AND_ASSIGN, token.SHL_ASSIGN: token.SHR_ASSIGN, token.SHR_ASSIGN: token.SHL_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC,
}

// What a log says is for people; no test asserts it, and none should.
var logCall = regexp.MustCompile(`(^|\.)(log|logger|slog|Log)\.(Debug|Info|Warn|Error|Log)(Context|Attrs)?$`)

type lister struct {
	file   string
	source []byte
	files  *token.FileSet
	out    *json.Encoder
	parts  map[ast.Stmt]bool // statements that belong to another one's head: an initialisation, what a select waits for
	err    error
}

func (l *lister) offset(at token.Pos) int { return l.files.Position(at).Offset }

func (l *lister) text(n ast.Node) string {
	return string(l.source[l.offset(n.Pos()):l.offset(n.End())])
}

// replace reports the edit that puts text in the place of everything between two positions.
func (l *lister) replace(operator string, from, to token.Pos, text string) {
	at := l.files.Position(from)
	err := l.out.Encode(Mutant{l.file, at.Line, at.Column, operator, at.Offset, l.offset(to), text})
	if l.err == nil {
		l.err = err
	}
}

func (l *lister) remove(statement ast.Stmt) {
	if l.parts[statement] {
		return
	}
	// What the statement uses stays used, so that it compiles.
	l.replace("remove statement", statement.Pos(), statement.End(), "if false { "+l.text(statement)+" }")
}

func (l *lister) isLog(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	return ok && logCall.MatchString(l.text(call.Fun))
}

func (l *lister) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.CallExpr:
		return !l.isLog(n)
	case *ast.BinaryExpr:
		l.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT || n.Op == token.SUB {
			l.replace("remove "+n.Op.String(), n.OpPos, n.X.Pos(), "")
		}
	case *ast.BasicLit:
		l.constant(n)
	case *ast.Ident:
		switch n.Name {
		case "true":
			l.replace("boolean", n.Pos(), n.End(), "false")
		case "false":
			l.replace("boolean", n.Pos(), n.End(), "true")
		}
	case *ast.CompositeLit:
		l.fields(n)
	case ast.Stmt:
		l.statement(n)
	}
	return l.err == nil
}

func (l *lister) binary(n *ast.BinaryExpr) {
	for _, other := range binary[n.Op] {
		l.replace(n.Op.String()+" to "+other.String(), n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other.String())
	}
	if n.Op == token.LAND || n.Op == token.LOR {
		l.replace("remove first operand", n.X.Pos(), n.Y.Pos(), "")
		l.replace("remove last operand", n.X.End(), n.Y.End(), "")
	}
}

func (l *lister) constant(n *ast.BasicLit) {
	switch n.Kind {
	case token.INT:
		value, err := strconv.ParseUint(n.Value, 0, 63)
		if err != nil {
			return
		}
		l.replace("constant + 1", n.Pos(), n.End(), strconv.FormatUint(value+1, 10))
		if value > 0 {
			l.replace("constant - 1", n.Pos(), n.End(), strconv.FormatUint(value-1, 10))
		}
	case token.FLOAT:
		l.replace("double constant", n.Pos(), n.End(), "("+n.Value+" * 2)")
	default: // texts are for people, or have a test that reads them
	}
}

// fields lists what a literal of a structure does not say: a field that keeps its zero value.
func (l *lister) fields(n *ast.CompositeLit) {
	for i, element := range n.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			return
		}
		if _, ok := pair.Key.(*ast.Ident); !ok {
			return
		}
		end := pair.End()
		if i+1 < len(n.Elts) {
			end = n.Elts[i+1].Pos()
		} else if l.source[l.offset(end)] == ',' {
			end++
		}
		l.replace("remove field", pair.Pos(), end, "")
	}
}

func (l *lister) statement(n ast.Stmt) {
	switch n := n.(type) {
	case *ast.ForStmt:
		l.parts[n.Init], l.parts[n.Post] = true, true
	case *ast.SwitchStmt:
		l.parts[n.Init] = true
	case *ast.CommClause:
		l.parts[n.Comm] = true
	case *ast.IfStmt:
		l.parts[n.Init] = true
		l.replace("condition never", n.Cond.Pos(), n.Cond.End(), "("+l.text(n.Cond)+") && false")
		l.replace("condition always", n.Cond.Pos(), n.Cond.End(), "("+l.text(n.Cond)+") || true")
	case *ast.RangeStmt:
		l.replace("loop ends at once", n.Body.Lbrace+1, n.Body.Lbrace+1, " break;")
	case *ast.BranchStmt:
		switch n.Tok { //nolint:exhaustive // goto and fallthrough have no opposite
		case token.BREAK:
			l.replace("break to continue", n.TokPos, n.TokPos+token.Pos(len("break")), "continue")
		case token.CONTINUE:
			l.replace("continue to break", n.TokPos, n.TokPos+token.Pos(len("continue")), "break")
		}
	case *ast.AssignStmt:
		if other, ok := assignment[n.Tok]; ok {
			l.replace(n.Tok.String()+" to "+other.String(), n.TokPos, n.TokPos+token.Pos(len(n.Tok.String())), other.String())
		}
		if n.Tok != token.DEFINE {
			l.remove(n)
		}
	case *ast.IncDecStmt:
		l.replace(n.Tok.String()+" to "+assignment[n.Tok].String(), n.TokPos, n.End(), assignment[n.Tok].String())
		l.remove(n)
	case *ast.ExprStmt:
		if !l.isLog(n.X) {
			l.remove(n)
		}
	case *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt:
		l.remove(n)
	case *ast.ReturnStmt:
		l.returned(n)
	}
}

// returned lists the error that is not returned.
func (l *lister) returned(n *ast.ReturnStmt) {
	if len(n.Results) == 0 {
		return
	}
	last := n.Results[len(n.Results)-1]
	switch value := last.(type) {
	case *ast.Ident:
		if value.Name != "err" {
			return
		}
	case *ast.CallExpr:
		if name := l.text(value.Fun); name != "fmt.Errorf" && name != "errors.New" && name != "errors.Join" {
			return
		}
	default:
		return
	}
	l.replace("error to nil", last.Pos(), last.End(), "nil")
}

func list(file string, out *json.Encoder) error {
	source, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read source: %w", err)
	}
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse source: %w", err)
	}
	l := lister{file: file, source: source, files: files, out: out, parts: map[ast.Stmt]bool{}}
	ast.Inspect(tree, l.visit)
	return l.err
}

func main() {
	out := json.NewEncoder(os.Stdout)
	names := bufio.NewScanner(os.Stdin)
	for names.Scan() {
		if err := list(names.Text(), out); err != nil {
			fmt.Fprintln(os.Stderr, "gomutants:", err)
			os.Exit(1)
		}
	}
	if err := names.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "gomutants: read names:", err)
		os.Exit(1)
	}
}
