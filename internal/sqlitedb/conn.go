package sqlitedb

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// Conn is what the connections of the driver implement.
type Conn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// Stmt is what the prepared statements of the driver implement.
type Stmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// writeDriver opens connections that write.
type writeDriver struct{ driver.Driver }

// Open implements driver.Driver.
func (d writeDriver) Open(name string) (driver.Conn, error) {
	conn, err := d.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	full, ok := conn.(Conn)
	if !ok {
		conn.Close()
		return nil, fmt.Errorf("the driver has connections of type %T", conn)
	}
	return &fairConn{Conn: &preparingConn{full, map[string]Stmt{}}}, nil
}

// connector opens connections of a data source.
type connector struct {
	driver driver.Driver
	name   string
}

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return c.driver }

// Connect implements driver.Connector.
func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.name) }
